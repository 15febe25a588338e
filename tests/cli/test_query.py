from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex import Composition, RetrievalConfig
from retrivex.cli import app
from retrivex.config import COMMON_OPTIONS

run = CliRunner().invoke
ROOT = Path(__file__).parents[2]

GUIDE = """# Guide

Bees live in hives. A hive has one queen.

## Winter

In winter bees form a cluster and shiver to keep warm. They eat their honey.

## Tools

A smoker calms bees. A veil keeps their stings away.
"""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("query")
    docs = folder / "docs"
    docs.mkdir()
    (docs / "guide.md").write_text(GUIDE)
    (docs / "wasps.txt").write_text("Wasps sting in summer. Their nests are of paper. Hornets are large wasps. " * 20)
    (docs / "lines.jsonl").write_text(
        '{"id": "old", "text": "Winter of 1963 was cold.", "metadata": {"year": 1963}}\n'
        '{"id": "new", "text": "Winter of 2023 was mild.", "metadata": {"year": 2023}}\n'
    )
    made = str(folder / "store.db")
    result = run(app, ["index", str(docs), "--db", made, "--size", "40", "--embed", "hashing-64"])
    assert result.exit_code == 0, result.output
    return made


def ask(db: str, *args: str) -> str:
    result = run(app, ["query", args[0], "--db", db, *args[1:]])
    assert result.exit_code == 0, result.output
    return result.stdout


def composed(db: str, *args: str) -> Composition:
    return Composition.from_dict(json.loads(ask(db, *args, "--format", "json", "--trace")))


def test_text_shows_the_context_and_where_each_number_comes_from(db: str) -> None:
    out = ask(db, "How do bees survive the winter?", "--budget", "60")
    assert "In winter bees form a cluster" in out
    context, _, sources = out.partition("\nSources\n")
    assert context.startswith("[1] ")
    assert "guide.md, characters " in sources
    assert ", Guide" in sources


def test_sub_questions_are_each_searched_for(db: str) -> None:
    asked = ("What calms bees?", "Where do wasps sting?")
    options = [word for one in asked for word in ("--sub-question", one)]
    made = composed(db, "Winter of 1963", "--budget", "200", "--mode", "bm25", *options)
    assert set(made.questions) == set(asked)
    assert "1963" not in made.text
    assert "1963" in ask(db, "Winter of 1963", "--budget", "200", "--mode", "bm25")
    refused = run(app, ["query", "Why?", "--db", db, "--sub-question", " "])
    assert refused.exit_code != 0
    assert "sub_questions is [' ']: it must be a list of questions as text" in " ".join(refused.stderr.split())


def test_short_documents_are_shown_whole(db: str) -> None:
    whole = composed(db, "smoker", "--window", "0", "--whole-documents", "200")
    assert "guide.md" in whole.trace.selection["whole_documents"]
    assert "Bees live in hives." in whole.text


def test_markdown_lists_sources_as_markdown(db: str) -> None:
    out = ask(db, "smoker", "--format", "markdown", "--budget", "60")
    assert "**[1]" in out
    assert "## Sources\n\n1. `guide.md`, " in out


def test_json_is_the_composition(db: str) -> None:
    made = composed(db, "smoker", "--budget", "60")
    assert made.question == "smoker"
    assert 0 < made.tokens <= 60


def test_json_flag_is_the_same_as_the_format(db: str) -> None:
    made = json.loads(ask(db, "smoker", "--json"))
    assert (made["schema"], "trace" in made) == ("retrivex.composition/1", False)


def test_prompt_holds_question_and_context(db: str) -> None:
    out = ask(db, "What calms bees?", "--format", "prompt")
    assert "Question: What calms bees?" in out
    assert "A smoker calms bees." in out


def test_options_reach_the_composer(db: str, tmp_path: Path) -> None:
    narrow = composed(db, "smoker", "--window", "0", "--budget", "100", "--k", "1")
    assert [span.chunk_ids for span in narrow.spans] == [[narrow.spans[0].chunk_ids[0]]]
    assert composed(db, "winter", "--set", "max_spans=1").trace.steps
    assert len(composed(db, "winter", "--set", "max_spans=1").spans) == 1
    assert composed(db, "winter", "--set", "span_header=document", "--budget", "90").style.header == "document"
    assert composed(db, "winter", "--preset", "published").style.numbered is False
    options = tmp_path / "options.toml"
    options.write_text("token_budget = 33\n")
    assert composed(db, "winter", "--config", str(options)).token_budget == 33
    assert composed(db, "winter", "--config", str(options), "--budget", "44").token_budget == 44
    ordered = composed(db, "winter bees", "--order", "score_desc")
    assert [span.score for span in ordered.spans] == sorted((span.score for span in ordered.spans), reverse=True)


@pytest.mark.parametrize("mode", ["auto", "bm25", "dense", "hybrid"])
def test_every_mode_finds(db: str, mode: str) -> None:
    assert composed(db, "a smoker calms bees", "--mode", mode).spans


def test_dense_without_vectors_says_how_to_get_them(db: str, tmp_path: Path) -> None:
    page, plain = tmp_path / "page.txt", str(tmp_path / "plain.db")
    page.write_text("Bees sleep.")
    run(app, ["index", str(page), "--db", plain])
    result = run(app, ["query", "bees", "--db", plain, "--mode", "dense"])
    assert result.exit_code == 3
    assert "holds no vectors: index with --embed" in result.stderr


def test_where_narrows_hits_down(db: str) -> None:
    assert {span.doc_id for span in composed(db, "winter", "--where", "metadata.year=1963").spans} == {"old"}
    assert {span.doc_id for span in composed(db, "winter", "--where", "doc_id=guide.md").spans} == {"guide.md"}
    either = composed(db, "winter", "--where", 'doc_id=["old", "new"]', "--mode", "bm25")
    assert {span.doc_id for span in either.spans} == {"old", "new"}
    after = composed(db, "winter", "--where", 'metadata.year={"min": 2000}', "--mode", "bm25")
    assert {span.doc_id for span in after.spans} == {"new"}


@pytest.mark.parametrize("output", ["text", "markdown"])
def test_explain_follows_the_sources(db: str, output: str) -> None:
    out = ask(db, "winter", "--explain", "--format", output, "--budget", "80")
    assert out.index("ources") < out.index("hit, shown") < out.index("tokens\n") < out.index("render")


def test_explain_leaves_the_standard_output_of_programs_alone(db: str) -> None:
    result = run(app, ["query", "winter", "--db", db, "--explain", "--format", "json"])
    assert json.loads(result.stdout)
    assert "hit, shown" in result.stderr


def test_warnings_go_to_standard_error(db: str) -> None:
    result = run(app, ["query", "wasps survive", "--db", db, "--budget", "10"])
    assert "note: " in result.stderr
    assert "note: " not in result.stdout


def test_an_empty_question_is_wrong_usage(db: str) -> None:
    for question in ("", " \n"):
        result = run(app, ["query", question, "--db", db])
        assert (result.exit_code, result.stdout) == (2, "")
        assert "the question is empty" in result.stderr


def test_where_nothing_is_found_it_is_told_once_in_words_that_fit_the_command(db: str) -> None:
    for more in ([], ["--explain"], ["--json"], ["--format", "prompt"]):
        result = run(app, ["query", "zzzz qqqq", "--db", db, "--mode", "bm25", *more])
        assert result.exit_code == 0
        assert result.output.count("no chunk has a word of the question") == 1
        assert "retriever" not in result.output


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "; try other words"),
        (["--scope", "acme"], ", or scope lets none through; try other words"),
        (["--where", "page=3"], ", or where lets none through; try other words"),
        (["--where", "page=3", "--scope", "acme"], ", or scope and where let none through; try other words"),
    ],
)
def test_where_nothing_is_found_only_what_was_given_is_named(db: str, options: list[str], reason: str) -> None:
    result = run(app, ["query", "zzzz qqqq", "--db", db, "--mode", "bm25", *options])
    assert f"nothing found: no chunk has a word of the question{reason}\n" in result.stderr


@pytest.mark.parametrize("value", ['page={"min": }', "page={min}", 'doc_id=["a.md"', 'metadata.year="1963', "page= [3"])
def test_what_begins_like_json_and_is_none_is_refused(db: str, value: str) -> None:
    result = run(app, ["query", "winter", "--db", db, "--where", value])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"--where {value!r}: the value begins like JSON and is none (" in result.stderr
    assert "write it as in " in result.stderr


def test_reading_leaves_no_files_beside_the_database(db: str) -> None:
    folder = Path(db).parent
    before = sorted(path.name for path in folder.iterdir())
    for args in (["query", "winter", "--db", db], ["inspect", db], ["query", "zzzz", "--db", db]):
        assert run(app, args).exit_code == 0
        assert sorted(path.name for path in folder.iterdir()) == before


def test_an_empty_context_is_told_with_its_reason(db: str) -> None:
    result = run(app, ["query", "winter", "--db", db, "--budget", "0"])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing to show: " in result.stderr
    assert "for budget" in result.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--db", "missing.db"], 3, "missing.db does not exist"),
        (["--budget", "-1"], 2, "token_budget is -1: it should be greater than or equal to 0"),
        (["--set", "nonsense=1"], 2, "nonsense: there is no such option; see RetrievalConfig for their names"),
        (["--set", "token_bugdet=1"], 2, "token_bugdet: there is no such option; did you mean token_budget?"),
        (["--set", "window"], 2, "is not of the form key=value"),
        (["--set", "window=1", "--set", "window=2"], 2, "names 'window' twice"),
        (["--preset", "magic"], 2, "preset 'magic' does not exist"),
        (["--preset", "speed", "--config", "x.toml"], 2, "exclude each other"),
        (["--config", "missing.toml"], 2, "missing.toml cannot be read"),
        (["--where", "colour=red"], 3, "field 'colour'"),
        (["--embed", "hashing-32"], 3, "hashing-64"),
        (["--k", "0"], 2, "--k"),
        (["--bogus"], 2, "--bogus"),
    ],
)
def test_errors_are_one_line_and_a_code(db: str, options: list[str], code: int, message: str) -> None:
    given = options if "--db" in options else ["--db", db, *options]
    result = run(app, ["query", "winter", *given])
    assert result.exit_code == code
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    machine = run(app, ["query", "winter", "--json", *given])
    assert machine.exit_code == code
    assert message in json.loads(machine.stderr)["error"]["message"]


def test_a_preset_that_is_no_name_is_a_usage_error(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text("preset = [5]\n")
    result = run(app, ["query", "bees", "--config", str(config), "--db", str(tmp_path / "store.db")])
    assert result.exit_code == 2
    assert "preset [5] does not exist" in result.stderr


def test_help_shows_the_options_that_are_changed_most_often_first() -> None:
    shown = run(app, ["query", "--help"], env={"COLUMNS": "200"}).stdout
    common = [shown.index(f" {name} (") for name in COMMON_OPTIONS]
    assert common == sorted(common)
    assert all(shown.index(f" {step}: ") > common[-1] for step in RetrievalConfig.option_groups() if step != "scoring")


def test_who_names_a_window_means_it(db: str) -> None:
    """Windows follow the budget by themselves, and no more with -w, whatever the preset."""
    question = ("Who stings in summer?", "--k", "1", "--budget", "400")
    free = composed(db, *question)
    for named in (("-w", "1"), ("-w", "1", "--preset", "quality"), ("--set", "window=[1,1]")):
        (window,) = composed(db, *question, *named).trace.windows
        assert len(window) <= 3
    assert max(map(len, free.trace.windows)) > 3


def test_the_question_of_the_readme_gets_its_answer(tmp_path: Path) -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    folder, question = re.search(r'^retrivex index (\S+)\nretrivex query "(.+)" --explain$', shown, re.M).groups()  # type: ignore[union-attr]
    db = str(tmp_path / "store.db")
    assert run(app, ["index", str(ROOT / folder), "--db", db]).exit_code == 0
    for budget in ("100", "200", "1000", "2000"):
        first = ask(db, question, "--budget", budget).partition("\n[2] ")[0]
        assert "lunch up to 25 euros and dinner up to 45 euros" in first


def test_html_writes_the_answer_as_a_page(db: str, tmp_path: Path) -> None:
    page = tmp_path / "answer.html"
    out = ask(db, "How do bees survive the winter?", "--budget", "60", "--html", str(page))
    text = page.read_text(encoding="utf-8")
    [data] = re.findall(r'id="recorded">(.*?)</script>', text)
    [answer] = json.loads(data)["answers"]
    assert "".join(piece["text"] for piece in answer["context"]) == out.partition("\nSources\n")[0].rstrip("\n")
    assert answer["settings"]["token_budget"] == 60
    assert "--embed hashing-64" in answer["code"]["command"]
    chunks = [chunk for document in answer["documents"] for chunk in document["chunks"]]
    assert any(chunk["outcome"] == "dropped" and chunk["pieces"] for chunk in chunks)


def test_html_that_cannot_be_written_is_an_error(db: str, tmp_path: Path) -> None:
    result = run(app, ["query", "smoker", "--db", db, "--html", str(tmp_path / "missing" / "a.html")])
    assert result.exit_code == 3
    assert "a.html: No such file or directory" in " ".join(result.output.split())


def test_a_source_of_a_transcript_says_when_it_is_said(tmp_path: Path) -> None:
    sentences = ["The new pump is quieter.", "It fills in five minutes.", "Nobody asked about the price."]
    stamps = ["00:00:58,000 --> 00:01:02,500", "00:01:02,500 --> 00:01:05,250", "01:00:07,000 --> 01:00:09,000"]
    cues = [f"{n}\n{stamp}\n{said}\n" for n, (stamp, said) in enumerate(zip(stamps, sentences, strict=True), 1)]
    (tmp_path / "talk.srt").write_text("\n".join(cues))
    made = str(tmp_path / "store.db")
    result = run(app, ["index", str(tmp_path / "talk.srt"), "--db", made, "--chunker", "sentence", "--size", "1"])
    assert result.exit_code == 0, result.output
    out = ask(made, "five minutes", "--window", "0", "--where", 'metadata.start_time={"min": 60}')
    assert "[1] talk.srt, 0:01:02-0:01:05, characters 25-" in out.partition("\nSources\n")[2]
    chunk = composed(made, "five minutes", "--window", "0").spans[0].chunks[0]
    assert (chunk.metadata.custom_metadata["start_time"], chunk.metadata.custom_metadata["end_time"]) == (62.5, 65.25)
