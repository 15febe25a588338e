"""Import every adapter of the installed package; those of the named stores and frameworks must be there.

Another one may only be missing for the reason that its extra is not installed, and must say so.
"""

import importlib
import pkgutil
import sys

import retrivex.adapters

PACKAGE = "retrivex.adapters."
found = pkgutil.walk_packages(retrivex.adapters.__path__, PACKAGE)  # passes over what is in a folder without its extra
names = [module.name.removeprefix(PACKAGE) for module in found]
if not set(sys.argv[1:]) <= set(names):
    raise SystemExit(f"no adapter {set(sys.argv[1:]) - set(names)} in {list(retrivex.adapters.__path__)}")
missing = []
for name in names:
    try:
        importlib.import_module(f"retrivex.adapters.{name}")
    except ImportError as error:
        # a part of an adapter, as pgvector.query of pgvector, leaves the word to that
        part = name.split(".")[0] in missing
        if name in sys.argv[1:] or not (part or "pip install 'retrivex-rag[" in str(error)):
            raise
        missing.append(name)
print("imported:", ", ".join(sorted({*names} - {*missing})), "- without their extra:", ", ".join(missing) or "none")  # noqa: T201
