"""Say what is missing before an environment is made, in words instead of a traceback."""

import importlib.util
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - older versions get here and are told so
    found = ".".join(map(str, sys.version_info[:2]))
    sys.exit(f"RetriVex needs Python 3.11 or later, and this is {found}: name another, as in make PYTHON=python3.12")
if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
    sys.exit(
        "This Python cannot make virtual environments: its modules venv and ensurepip are missing. On Debian and "
        "Ubuntu install python3-venv; elsewhere name another Python, as in make PYTHON=python3.12"
    )
