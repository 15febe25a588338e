"""How many examples Hypothesis draws for a property: a share of the full number, all of it in the thorough profile.

`make test` tries each property on a few examples, drawn anew each time; `make test-integration` runs pytest with
`--hypothesis-profile=thorough`, and the fuzzer (`make fuzz`) composes a million times.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings

PLAIN, THOROUGH = "retrivex", "thorough"
"""Names of the profiles that `conftest.py` registers."""

FEWEST = 25
"""Examples of a property without a number of its own, and the fewest of one with more."""

SHARE = 10
"""One example of so many of the full number is drawn in the plain profile."""


def try_examples(full: int, **said: Any) -> settings:
    """Return the settings of a property that is worth `full` examples; further settings go to Hypothesis."""
    thorough = settings.get_current_profile_name() == THOROUGH
    return settings(max_examples=full if thorough else min(full, max(FEWEST, full // SHARE)), **said)
