"""Files that an earlier version wrote open, or say what to do. `tests/golden/VERSION` holds them as it wrote them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from retrivex import Composition, RetrievalConfig, SpanComposer
from retrivex.cli import app
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import ConfigError, RetrivexError
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore

GOLDEN = Path(__file__).parent / "golden" / "0.2.0"
QUESTION = "Which meals are paid on a business trip?"
CONFIG = RetrievalConfig(token_budget=120, tokenizer="estimate")
WAY_OUT = r"fitted for other features than this version has \(.*, \d+ more\): leave `coefficients` out, and run"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return Path(shutil.copy(GOLDEN / "index.db", tmp_path))


def _cli(*arguments: object) -> Any:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.mark.parametrize("mode", ["bm25", "dense", "hybrid"])
def test_an_index_is_read(index: Path, mode: Any) -> None:
    with SQLiteStore(index) as store:
        encoder = HashingEncoder()
        hits = LocalRetriever(store, encoder, mode=mode).retrieve(QUESTION, 10)
        made = SpanComposer(CONFIG).compose(hits, store, query=QUESTION)
    assert "Breakfast is covered up to 15 euros, lunch up to 25 euros and dinner up to 45 euros a person." in made.text
    assert made.warnings == ()


def test_the_scopes_of_an_index_hold(index: Path) -> None:
    question = ["query", "Is wine covered at dinner with clients?", "--db", index, "--set", "tokenizer=estimate"]
    assert "open it once for writing, as `retrivex inspect --check` does" in _cli(*question).stderr
    assert "whole" in _cli("inspect", "--check", "--db", index).stdout
    assert "wine is covered" not in _cli(*question).stdout
    assert "wine is covered" in _cli(*question, "--scope", "reception").stdout


def test_an_index_is_written_to(index: Path, tmp_path: Path) -> None:
    (tmp_path / "pets.md").write_text("# Pets\n\nDogs may come to the office on Fridays.\n")
    # the same size: other chunks would mean cutting every document again
    again = ["index", tmp_path / "pets.md", "--db", index, "--size", "40", "--tokenizer", "estimate"]
    assert _cli(*again).exit_code == 0
    asked = _cli("query", "When may dogs come?", "--db", index, "--set", "tokenizer=estimate")
    assert "Dogs may come to the office on Fridays." in asked.stdout
    assert re.search(r"documents +4", _cli("inspect", "--db", index).stdout)


@pytest.mark.parametrize("name", ["config.json", "config.toml"])
def test_a_config_is_read(name: str) -> None:
    with pytest.warns(FutureWarning, match="prefer_fewer_spans: write run_cost=0 for false"):
        config = RetrievalConfig.from_file(GOLDEN / name)
    assert (config.token_budget, config.run_cost) == (120, 0.0)


def test_a_config_with_every_option_is_read_and_warns_once() -> None:
    with pytest.warns(FutureWarning, match="options of an earlier version") as warned:
        config = RetrievalConfig.from_file(GOLDEN / "all_options.json")
    assert len(warned) == 1
    assert config == RetrievalConfig(token_budget=120, ordering_strategy="document", stop_on_change="page")


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(("value", "cost"), [("false", 0.0), ("no", 0.0), (0, 0.0), ("true", 0.3), (True, 0.3)])
def test_the_old_name_of_run_cost_takes_what_it_took(value: object, cost: float) -> None:
    assert RetrievalConfig.model_validate({"prefer_fewer_spans": value, "run_cost": 0.3}).run_cost == cost


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_old_name_of_run_cost_is_refused_for_what_it_refused() -> None:
    with pytest.raises(ConfigError, match="prefer_fewer_spans is 'maybe': it must be true or false; run_cost=0 is"):
        RetrievalConfig.model_validate({"prefer_fewer_spans": "maybe"})


def test_a_composition_is_read() -> None:
    written = json.loads((GOLDEN / "composition.json").read_text(encoding="utf-8"))
    made = Composition.from_dict(written)
    # what came later is not known of it
    units = [{**unit, "expected": None} for unit in written["trace"]["units"]]
    dropped = [{**hit, "shown": 0.0} for hit in written["dropped"]]
    trace = {**written["trace"], "document": {}, "units": units}
    later = {**written, "expected_recall": None, "dropped": dropped, "trace": trace}
    (coverage,) = written["coverage"]
    later["coverage"] = [{**coverage, "summary": "chunks 2-5 (9 in all)"}]  # "of 9" read as a place among nine
    assert json.loads(made.to_json(trace=True)) == later
    assert made.resolve("[1]")[0].doc_id == "travel.md"


def test_coefficients_of_other_features_are_refused() -> None:
    config = CONFIG.override(coefficients=GOLDEN / "tuned" / "coefficients.json")
    with pytest.raises(RetrivexError, match=WAY_OUT):
        SpanComposer(config).compose([], {}, query=QUESTION)


def test_a_tuned_config_with_such_coefficients_is_refused(index: Path) -> None:
    config = RetrievalConfig.from_file(GOLDEN / "tuned" / "config.json")
    with pytest.raises(RetrivexError, match=WAY_OUT):
        SpanComposer(config, tokenizer="estimate").compose([], {}, query=QUESTION)
    SQLiteStore(index).close()  # brings it up to date
    asked = _cli("query", QUESTION, "--db", index, "--config", GOLDEN / "tuned" / "config.json")
    assert asked.exit_code == 3
    assert re.search(WAY_OUT, asked.stderr)
    assert asked.stdout == ""
