"""Every option does something: a test of its name, in one of the modules beside this one, shows what."""

from __future__ import annotations

from composer import (
    test_options_expansion,
    test_options_hits,
    test_options_ordering,
    test_options_scoring,
    test_options_selection,
)

from retrivex.config import RetrievalConfig

MODULES = (
    test_options_expansion,
    test_options_hits,
    test_options_ordering,
    test_options_scoring,
    test_options_selection,
)
SHOWN = {name.removeprefix("test_") for module in MODULES for name in vars(module) if name.startswith("test_")}


def test_every_option_has_a_test_that_shows_its_effect() -> None:
    assert sorted(set(RetrievalConfig.model_fields) - SHOWN) == []


def test_no_effect_is_of_an_option_that_is_gone() -> None:
    assert sorted(SHOWN - set(RetrievalConfig.model_fields)) == []
