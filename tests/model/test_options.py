"""What is said of a wrong option: one sentence with the value, the rule and the way out, whoever is asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrivex import Reorderer, RetrievalConfig, RetrivexError, SpanComposer
from retrivex.errors import ConfigError
from retrivex.evaluation.run import Plan
from retrivex.ordering import AutoSettings

CASES: list[tuple[Callable[..., Any], str, str]] = [
    (RetrievalConfig, "token_bugdet", "token_budget"),
    (RetrievalConfig().override, "max_span", "max_spans"),
    (lambda **typo: RetrievalConfig.preset("speed", **typo), "widow", "window"),
    (lambda **typo: SpanComposer().compose([], {}, **typo), "token_bugdet", "token_budget"),
    (Reorderer, "max_token", "max_tokens"),
    (Reorderer().options.override, "stategy", "strategy"),
    (AutoSettings, "near_ful", "near_full"),
    (Plan, "composer", "composers"),
]

NAMELESS = [(RetrievalConfig, "RetrievalConfig(token_budget=2000)"), (AutoSettings, "AutoSettings(option=value)")]


@pytest.mark.parametrize(("make", "typo", "meant"), CASES)
def test_a_typo_names_the_option_that_is_meant(make: Callable[..., Any], typo: str, meant: str) -> None:
    with pytest.raises(RetrivexError) as caught:
        make(**{typo: 3})
    assert str(caught.value) == f"{typo}: there is no such option; did you mean {meant}?"


def test_a_typo_within_options_names_where_it_is() -> None:
    with pytest.raises(RetrivexError, match=r"^configs\.mine: token_bugdet: there .* did you mean token_budget\?$"):
        Plan(configs={"mine": {"token_bugdet": 3}})  # type: ignore[dict-item]
    with pytest.raises(RetrivexError, match=r"^weights: tme: there is no such option; did you mean time\?$"):
        Reorderer(weights={"tme": 3})


@pytest.mark.parametrize(("name", "text"), [("a.toml", "token_bugdet = 3"), ("a.json", '{"token_bugdet": 3}')])
def test_a_typo_in_a_file_names_the_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(RetrivexError, match=rf"config file .*{name}: token_bugdet: .* did you mean token_budget\?"):
        RetrievalConfig.from_file(tmp_path / name)


def test_all_that_is_wrong_is_said_at_once_with_its_value() -> None:
    with pytest.raises(RetrivexError) as caught:
        RetrievalConfig(window=-1, token_budget="few")  # type: ignore[arg-type]
    window, budget = str(caught.value).split("; ")
    assert window == "window is -1: it must be from 0 to 10,000 chunks, or a pair (before, after) of such numbers"
    assert budget.startswith("token_budget is 'few': it should be a valid integer")
    assert "pydantic" not in str(caught.value)


def test_a_number_in_place_of_a_config_is_refused() -> None:
    with pytest.raises(RetrivexError, match=r"config is int 2000: it must be a RetrievalConfig, as in"):
        SpanComposer(2000)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "example"), NAMELESS)
def test_a_value_without_a_name_is_refused(kind: Callable[..., Any], example: str) -> None:
    with pytest.raises(ConfigError) as caught:
        kind(2000)
    name = example.partition("(")[0]
    assert str(caught.value) == f"{name} is given 2000 without a name: name each option, as in {example}"


def test_an_argument_of_the_composer_that_does_not_exist_names_what_is_meant() -> None:
    with pytest.raises(ConfigError, match=r"^token_budget: SpanComposer takes it as an option of its config, Retr"):
        SpanComposer(token_budget=3)  # type: ignore[arg-type]
    for typo, meant in (("token_buget", "token_budget"), ("tokeniser", "tokenizer"), ("rerank", "reranker")):
        with pytest.raises(ConfigError) as caught:
            SpanComposer(**{typo: 3})  # type: ignore[arg-type]
        assert str(caught.value) == f"{typo}: SpanComposer takes no such argument; did you mean {meant}?"
