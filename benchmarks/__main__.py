"""Measures everything again whose result is of another behaviour than today's, part by part.

Run: `make bench-all`. A part is a target of the Makefile, and none takes more than 90 minutes on two cores. A run that
was stopped goes on: parts with results of today are left out, and most parts keep what they finished.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.behaviour import FIELD, KEPT, today

RESULTS = Path(__file__).parent / "results"
PARTS: Mapping[str, Sequence[str]] = {
    "calibrate": ("calibration.json", "reliability.json"),
    "bench-evidence-full": ("evidence.json", "evidence_grid.json"),
    "bench-effort": ("effort.json",),
    "ablations": ("ablations.json",),
    "bench-options": ("options.json",),
    "bench-fusion": ("fusion.json",),
    "bench-rerank": ("rerank.json",),
    "bench-rerank-bare": ("rerank_bare.json",),
    "bench-tune": ("tune.json",),
    "evaluate": tuple(
        f"{name}/manifest.json" for name in ("niah", "ruler", "lost_in_the_middle", "key_value", "longbench")
    ),
}
"""Results that each part writes."""


def is_of_today(name: str) -> bool:
    """Return whether a result is there and of today's behaviour."""
    path = RESULTS / name
    return path.exists() and json.loads(path.read_text(encoding="utf-8")).get(FIELD) == today()


def main() -> int:
    """Run the parts that are not of today, and say how long each took; 1 where one failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="only say which parts would run")
    only_list = parser.parse_args().list
    todo = [target for target, names in PARTS.items() if not all(map(is_of_today, names))]
    print(f"behaviour {today()}, to measure: {', '.join(todo) or 'nothing'}", flush=True)
    failed = []
    for target in [] if only_list else todo:
        began = time.monotonic()
        if subprocess.run(["make", target], check=False).returncode:
            failed.append(target)
        print(f"{(time.monotonic() - began) / 60:6.1f} min  {target}", flush=True)
        if target == "calibrate" and not failed:  # it may have changed the behaviour
            return subprocess.run([sys.executable, "-m", "benchmarks"], check=False).returncode
    if failed:
        print(f"failed: {', '.join(failed)}")
    elif not only_list:
        KEPT.write_text(json.dumps({FIELD: today()}) + "\n", encoding="utf-8")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
