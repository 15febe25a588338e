"""No step of the pipeline is quadratic in the length of a text, whatever the text repeats."""

from __future__ import annotations

from functools import partial

import pytest
from support.processor_time import growth, processor_seconds

from benchmarks.speed.growth import STEPS, UNITS, make_text

QUICK = ("sentences", "structure", "lead-ins", "shapes", "chunker sentence", "compose one chunk")
SHORT = 2_500  # characters, more than what is kept whole
LEAST_SECONDS = 0.004  # for four times as many; what is faster is too fast to compare, and to matter


@pytest.mark.parametrize("kind", UNITS)
def test_time_grows_with_the_length(kind: str) -> None:
    texts = {length: make_text(kind, length) for length in (SHORT, 4 * SHORT)}

    def read(step: str, length: int) -> object:
        return STEPS[step](texts[length])

    steps = [step for step in QUICK if processor_seconds(partial(read, step, 4 * SHORT)) > LEAST_SECONDS]
    assert [step for step in steps if growth(partial(read, step), SHORT) > 11] == []


@pytest.mark.parametrize("step", STEPS)
def test_every_step_reads_every_kind(step: str) -> None:
    for kind in UNITS:
        STEPS[step](make_text(kind, 300))
