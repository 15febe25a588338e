"""Files by bytes, led by the branches that they reach: needs `pip install atheris`, on Linux.

    PYTHONPATH=tests python -m fuzz.covered --cases 100000 --suffix .html

What it finds is a file under `build/fuzz-bytes/`, which `load_file` reads again.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["retrivex.loading", "retrivex.model", "retrivex.text", "retrivex.chunking"]):
    from fuzz.files import MAKERS
    from fuzz.loaders import check_chunks, check_document

    from retrivex.errors import LoadError
    from retrivex.loading.files import load_bytes

FOLDER = Path(__file__).parents[2] / "build" / "fuzz-bytes"
SEEDS = 200


def main() -> None:
    """Write the seeds, then try bytes until so many were tried, or one breaks a rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--suffix", choices=[suffix for suffix in MAKERS if suffix != ".jsonl"], default=".html")
    said = parser.parse_args()
    corpus = FOLDER / f"corpus{said.suffix}"
    corpus.mkdir(parents=True, exist_ok=True)
    for number in range(SEEDS):
        made = MAKERS[said.suffix](random.Random(number))
        (corpus / f"seed{number}").write_bytes(made[:4096])

    def try_bytes(raw: bytes) -> None:
        with contextlib.suppress(LoadError):
            document = load_bytes(raw, said.suffix, f"file{said.suffix}", None).document
            check_document(document, raw)
            check_chunks(document, "auto")

    arguments = [f"-runs={said.cases}", "-max_len=4096", "-timeout=20", f"-artifact_prefix={FOLDER}/", str(corpus)]
    atheris.Setup([sys.argv[0], *arguments], try_bytes)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
