"""Import every adapter of the installed package, with the frameworks there; a missing module is an error."""

import importlib
import pkgutil

import retrivex.adapters

names = [module.name for module in pkgutil.iter_modules(retrivex.adapters.__path__, "retrivex.adapters.")]
if not names:
    raise SystemExit(f"no adapter in {list(retrivex.adapters.__path__)}")
for name in names:
    importlib.import_module(name)
print("imported:", ", ".join(names))  # noqa: T201
