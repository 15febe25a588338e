"""The settings of the page, and the code that gives the same answer elsewhere."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from support.properties import try_examples
from support.service_world import make_engine, make_index
from support.strategies import option_choices
from typer.testing import CliRunner

from retrivex import Document, RetrievalConfig
from retrivex.cli import app
from retrivex.errors import ConfigError
from retrivex.service.engine import Engine
from retrivex.service.index import Index
from retrivex.service.playground.settings import changed_options, settings_of, to_options, write_code
from retrivex.tokens.tokenizer import resolve_tokenizer

RECORDED = re.compile(r'<script type="application/json" id="recorded">(.*?)</script>', re.DOTALL)
QUESTION = 'What\'s "kept" in a hive?'


def test_settings_that_are_left_out_stay_as_they_were() -> None:
    config = RetrievalConfig(token_budget=700, effort="lean", numbered=False)
    turned = config.override(**to_options({"effort": "full", "order": "document"}))
    assert (turned.token_budget, turned.effort, turned.ordering_strategy) == (700, "full", "document")
    assert not turned.numbered
    assert to_options({}) == {}


@pytest.mark.parametrize(("name", "value"), [("token_budget", -1), ("effort", "huge"), ("order", "up"), ("colour", 1)])
def test_settings_that_break_a_rule_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        RetrievalConfig().override(**to_options({name: value}))


@pytest.mark.parametrize("own", [{"window": 1}, {"window": (3, 0)}, {"pool_factor": 2}, {}])
def test_a_window_of_null_is_as_wide_as_needed_whatever_the_service_has(own: dict[str, Any]) -> None:
    config = RetrievalConfig(token_budget=700, **own)
    turned = config.override(**to_options({"window": None}))
    assert turned == RetrievalConfig(token_budget=700)
    assert config.override(**changed_options(turned, config)) == turned  # what is copied
    assert config.override(**to_options({"token_budget": 700})) == config  # left out


def test_settings_of_a_config_give_it_back() -> None:
    for config in (RetrievalConfig(), RetrievalConfig(window=0, scoring="weighted", ordering_strategy="auto")):
        assert RetrievalConfig(**to_options(settings_of(config))) == config


@try_examples(200)
@given(option_choices)
def test_changed_options_make_the_same_config(options: dict[str, Any]) -> None:
    try:
        config = RetrievalConfig(**options)
    except ConfigError:
        return  # options that exclude one another
    changed = changed_options(config)
    assert json.loads(json.dumps(changed)) == changed
    again = RetrievalConfig(**changed)
    functions = {name for name, value in options.items() if name not in changed and value != getattr(again, name)}
    assert {name: value for name, value in again if name not in functions} == {
        name: value for name, value in config if name not in functions
    }


@pytest.fixture(scope="module", params=[None, "hashing-64"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str | None]:
    folder = tmp_path_factory.mktemp("code")
    (folder / "hive.md").write_text("# Hive\n\nHoney is kept in a hive. Wax is made there.\n\n# Tools\n\nA veil.\n")
    made = str(folder / "it's a store.db")
    embed = ["--embed", request.param] if request.param else []
    assert CliRunner().invoke(app, ["index", str(folder), "--db", made, "--size", "12", *embed]).exit_code == 0
    return made, request.param


@pytest.mark.parametrize("options", [{}, {"token_budget": 30, "window": 0}, {"span_header": "full", "effort": "full"}])
def test_command_line_and_service_answer_alike(database: tuple[str, str | None], options: dict[str, Any]) -> None:
    path, embed = database
    code = write_code(QUESTION, RetrievalConfig(**options), database=path, embed=embed, hits=7)
    command = shlex.split(code["command"])
    assert command[0] == "retrivex"
    result = CliRunner().invoke(app, [*command[1:], "--json"])
    assert result.exit_code == 0, result.output
    composed = json.loads(result.stdout)
    assert "Honey is kept in a hive." in composed["text"]
    engine = Engine([Index("default", Path(path), resolve_tokenizer("auto")[0])])
    assert engine.query(json.loads(code["json"])).text == composed["text"]
    engine.close()


@pytest.mark.parametrize("scopes", [["acme"], ["acme", ""], [""]])
def test_what_is_copied_from_a_recorded_answer_keeps_scope_and_where(tmp_path: Path, scopes: list[str]) -> None:
    page = tmp_path / "answer.html"
    owners = {"nobody": "stands in a meadow", "acme": "is painted blue", "wayne": "lies below a house"}
    documents = [
        Document(f"{owner}{n}.md", f"A hive of {owner} {what}: number {n}.", scope=None if owner == "nobody" else owner)
        for owner, what in owners.items()
        for n in (1, 2)
    ]
    make_index(tmp_path / "i.db", *documents)
    sources = [f"{owner}1.md" for owner in owners]
    asked = ["query", "Where is a hive?", "--db", str(tmp_path / "i.db"), "--html", str(page), "--json"]
    asked += [word for scope in scopes for word in ("--scope", scope)]
    where = "doc_id=" + json.dumps(sources)
    shown = CliRunner().invoke(app, [*asked, "--where", where])
    text = json.loads(shown.stdout)["text"]
    assert "number 1" in text
    assert "number 2" not in text
    assert "wayne" not in text
    assert ("acme" in text, "nobody" in text) == ("acme" in scopes, "" in scopes)
    recorded = RECORDED.search(page.read_text(encoding="utf-8"))
    assert recorded is not None
    [code] = [one["code"] for one in json.loads(recorded[1])["answers"]]
    again = CliRunner().invoke(app, [*shlex.split(code["command"])[1:], "--json"])
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["text"] == text
    with_service = make_engine(tmp_path / "i.db")
    assert with_service.query(json.loads(code["json"])).text == text
    with_service.close()


def test_a_reranker_that_is_not_copied_is_said_to_be_missing() -> None:
    code = write_code(QUESTION, RetrievalConfig(), reranked=True)
    for kind in ("python", "command", "curl"):
        note, _, rest = code[kind].partition("\n")
        assert note.startswith("# a reranker scored the hits")
        assert rest == write_code(QUESTION, RetrievalConfig())[kind]


def test_curl_sends_the_json() -> None:
    code = write_code(QUESTION, RetrievalConfig(effort="lean"))
    words = shlex.split(code["curl"])
    assert words[:3] == ["curl", "http://127.0.0.1:8080/v1/query", "--json"]
    assert json.loads(words[3]) == json.loads(code["json"])
    assert json.loads(code["json"]) == {"question": QUESTION, "k": 50, "config": {"effort": "lean"}}


def test_a_file_of_coefficients_is_written_as_its_path() -> None:
    config = RetrievalConfig(coefficients=Path("own.json"))
    assert changed_options(config) == {"coefficients": "own.json"}
