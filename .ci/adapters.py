"""Print the table of adapters for the Makefile: words such as `TESTS_engines=tests/adapters/qdrant`.

Python alone is enough: the table is read from its file, and nothing of the package is imported.
"""

import runpy
from pathlib import Path

TABLE = runpy.run_path(str(Path(__file__).parent.parent / "adapters" / "__init__.py"))

if __name__ == "__main__":
    for row in (*TABLE["FRAMEWORKS"], *TABLE["STORES"]):
        words = {
            "ADAPTERS": [row.name],
            "TESTS": [row.test_path],
            "EXAMPLES": [row.example],
            "PACKAGES": row.test_packages,
        }
        for kind, values in words.items():
            for value in values:
                print(f"{kind}_{row.environment}={value}")  # noqa: T201
