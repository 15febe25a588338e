from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from retrivex import Chunk, ChunkMetadata, Composition, RetrievalConfig, SeedHit, SpanComposer
from retrivex.cli import app
from retrivex.cli.compose import answer_line, read_schema
from retrivex.ordering import PROFILES

run = CliRunner().invoke

TEXTS = ["Bees live in hives.", "A hive has one queen.", "She lays all the eggs.", "Drones do not work."]
CHUNKS = [{"doc_id": "bees", "chunk_id": i, "text": text, "chunk_count": 4} for i, text in enumerate(TEXTS)]
COMPOSITION = json.loads(read_schema("composition-1"))
REQUEST = json.loads(read_schema("compose-request-1"))


def hit(chunk_id: int | str = 1, score: Any = 0.8, **more: Any) -> dict[str, Any]:
    return {"doc_id": "bees", "chunk_id": chunk_id, "score": score, **more}


def request(**more: Any) -> dict[str, Any]:
    return {"id": 7, "question": "Who lays eggs?", "hits": [hit()], "chunks": CHUNKS, **more}


def compose(*requests: Any, options: tuple[str, ...] = ()) -> tuple[int, list[dict[str, Any]]]:
    lines = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in requests)
    result = run(app, ["compose", "--budget", "100", *options], input=lines)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


def one(**more: Any) -> dict[str, Any]:
    code, (answer,) = compose(request(**more))
    assert code == ("error" in answer)
    return answer


def test_a_line_becomes_what_the_composer_gives() -> None:
    answer = one()
    made = Composition.from_dict(answer)
    store = {("bees", i): Chunk(text, ChunkMetadata("bees", i, chunk_count=4)) for i, text in enumerate(TEXTS)}
    composer = SpanComposer(RetrievalConfig(token_budget=100))
    same = composer.compose([SeedHit(store["bees", 1], 0.8)], store, query="Who lays eggs?")
    assert answer["id"] == 7
    assert (made.text, made.citations, made.dropped) == (same.text, same.citations, same.dropped)
    assert made.text == "[1] " + " ".join(TEXTS)


def test_order_is_kept_and_a_bad_line_does_not_stop_the_others() -> None:
    code, answers = compose(
        request(id="a"), "not json", request(id="b", hits=3), request(id="c", config={"window": -1}), request(id="d")
    )
    assert code == 1
    assert [answer["id"] for answer in answers] == ["a", None, "b", "c", "d"]
    assert [answer.get("error", {}).get("type") for answer in answers] == [
        None, "RequestError", "RequestError", "ConfigError", None,
    ]  # fmt: skip
    assert answers[2]["error"]["line"] == 3
    assert (
        answers[3]["error"]["message"]
        == "window is -1: it must be from 0 to 10,000 chunks, or a pair (before, after) of such numbers"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1, 2]", "holds a list"),
        ("{}", "'hits' is missing"),
        ('{"hits": [], "hitz": []}', "'hitz' is unknown"),
        ('{"hits": [], "chunks": ["text"]}', "must be an object"),
        ('{"hits": [], "chunks": [{"doc_id": "d", "chunk_id": 0}]}', "text"),
        ('{"hits": [], "question": 5}', "'question' is 5: it must be a string"),
        ('{"hits": [], "scope": 5}', "'scope' is 5"),
        ('{"hits": [], "parents": {"p": 5}}', "parent 'p' is 5"),
        ('{"hits": [], "query_embedding": ["x"]}', "no number"),
        ('{"hits": [], "config": [1]}', "'config' is [1]: it must be an object"),
        ('{"hits": [], "config": {"nonsense": 1}}', "there is no such option"),
        ("[" * 100_000, "not JSON"),
        ('{"id": ' + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_each_kind_of_bad_line_says_what_is_wrong(line: str, message: str) -> None:
    code, (answer,) = compose(line)
    assert code == 1
    assert message in answer["error"]["message"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (hit(score=float("nan")), "finite"),
        (hit(score="high"), "must be a finite number"),
        (hit(score=None), "lacks 'score'"),
        (hit("one"), "names no chunk and brings no text"),
        ("bees", "must be an object"),
        (hit(3, text="", colour="red"), "colour"),
        (hit(3, text="New.", metadata={"x": float("nan")}), "holds 'x', which JSON cannot"),
    ],
)
def test_a_bad_hit_among_good_ones_is_left_out_and_told(bad: Any, message: str) -> None:
    answer = one(hits=[bad, hit(0, 0.5)])
    assert "Bees live in hives." in answer["text"]
    assert message in answer["warnings"][0]
    strict = one(hits=[bad, hit(0, 0.5)], config={"strict": True})
    assert message in strict["error"]["message"]


def test_a_hit_without_text_is_listed_as_dropped() -> None:
    answer = one(hits=[hit(99, 0.25), hit(0, 0.5)])
    assert "Bees live in hives." in answer["text"]
    (lost,) = [dropped for dropped in answer["dropped"] if dropped["reason"] == "no_text"]
    assert (lost["chunk_id"], lost["similarity_score"]) == (99, 0.25)
    assert "not among the chunks and brings no text" in lost["detail"]
    strict = one(hits=[hit(99), hit(0, 0.5)], config={"strict": True})
    assert "not among the chunks and brings no text" in strict["error"]["message"]


def test_no_hits_are_told() -> None:
    assert one(hits=[])["warnings"][0].startswith("no hits were given")


def test_hits_may_bring_their_chunks() -> None:
    code, (answer,) = compose({"hits": [hit(0, text="Alone.", page=3)]})
    assert code == 0
    assert answer["text"] == "[1] Alone."
    assert answer["citations"][0]["page"] == 3
    assert answer["warnings"] == []


def test_several_hit_lists_are_fused() -> None:
    answer = one(hits=[[hit(0, 12.0), hit(1, 3.0)], [hit(1, 0.9)]], config={"window": 0})
    assert [pair[0] for pair in answer["coverage"][0]["matched"]] == [0, 1]


def test_hits_by_sub_question_and_short_documents() -> None:
    hits = {"Who lives in hives?": [hit(0, 0.9)], "Who lays eggs?": [hit(2, 0.4)]}
    answer = one(hits=hits, config={"window": 0})
    assert (answer["question"], [span["chunk_ids"] for span in answer["spans"]]) == ("Who lays eggs?", [[0], [2]])
    assert one(hits={"Who?": [hit(0)]}, config={"window": 0}, whole_documents=100)["spans"][0]["chunk_ids"] == [
        0,
        1,
        2,
        3,
    ]
    assert one(hits={})["warnings"][0].startswith("no hits were given")
    refused = one(hits={"Who?": {}})["error"]["message"]
    assert "'hits' is {'Who?': {}}: it must be a list of hits, or a list or an object of such lists" in refused
    assert "whole_documents is 'all'" in one(whole_documents="all")["error"]["message"]


def test_shared_chunks_come_from_a_file_and_a_line_may_add_its_own(tmp_path: Path) -> None:
    shared = tmp_path / "chunks.jsonl"
    shared.write_text("".join(json.dumps(chunk) + "\n" for chunk in CHUNKS))
    own = {"doc_id": "ants", "chunk_id": 0, "text": "Ants march."}
    lines = [{"hits": [hit()]}, {"hits": [hit(), {"doc_id": "ants", "chunk_id": 0, "score": 0.9}], "chunks": [own]}]
    code, (first, second) = compose(*lines, options=("--chunks", str(shared)))
    assert code == 0
    assert first["text"] == "[1] " + " ".join(TEXTS)
    assert "Ants march." in second["text"]
    assert "She lays all the eggs." in second["text"]


def test_parents_scope_and_embedding_reach_the_composer() -> None:
    chunks = [{**chunk, "parent_id": "p", "scope": "acme"} for chunk in CHUNKS]
    parent = {"doc_id": "bees", "chunk_id": 0, "text": " ".join(TEXTS) + " The end.", "scope": "acme"}
    shown = one(chunks=chunks, scope="acme", parents={"p": parent}, config={"return_parents": "auto"})
    assert shown["spans"][0]["parent_id"] == "p"
    hidden = one(chunks=chunks, scope="other")
    assert (hidden["text"], hidden["dropped"][0]["reason"]) == ("", "scope")
    either = one(chunks=chunks, scope=["acme", None])
    assert either["text"]
    embedded = [{**chunk, "embedding": [1.0, float(chunk["chunk_id"])]} for chunk in CHUNKS]
    assert one(chunks=embedded, query_embedding=[1.0, 0.5])["text"]


def test_options_and_the_line_turn_the_same_options() -> None:
    code, (answer,) = compose(request(config={"window": 0}), options=("--k", "1", "--set", "numbered=false"))
    assert (code, answer["text"]) == (0, TEXTS[1])


def test_files_in_and_out(tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"\xef\xbb\xbf" + json.dumps(request()).encode() + b"\n\n" + b"\xff\xfe\n")
    result = run(app, ["compose", "--in", str(source), "--out", str(target)])
    assert (result.exit_code, result.stdout) == (1, "")
    good, bad = [json.loads(line) for line in target.read_text().splitlines()]
    assert good["id"] == 7
    assert "not UTF-8" in bad["error"]["message"]
    same = run(app, ["compose", "--in", str(source), "--out", str(source)])
    assert same.exit_code == 2
    assert source.read_bytes()


def test_a_file_of_requests_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    missing, out = tmp_path / "no.jsonl", tmp_path / "out.jsonl"
    result = run(app, ["compose", "--in", str(missing), "--out", str(out)])
    assert result.exit_code == 2
    assert "no.jsonl': it does not exist; name a file of requests, or - for standard input" in result.stderr
    assert not out.exists()


def test_what_json_cannot_hold_does_not_break_the_output() -> None:
    code, answers = compose('{"id": NaN, "hits": []}', request(id="half \ud83d"), request())
    assert code == 0 or answers[0]["error"]
    assert answers[1]["id"] == "half \ud83d"
    assert answers[2]["id"] == 7


def test_compositions_keep_their_schema() -> None:
    validator = jsonschema.Draft202012Validator(COMPOSITION)
    extra = {"page": 2, "metadata": {"k": [1]}, "links": [["ants", 0]], "timestamp": 1.5}
    offsets = [
        {**chunk, **extra, "char_start": 30 * i, "char_end": 30 * i + len(TEXTS[i]), "heading_path": [str(i // 2)]}
        for i, chunk in enumerate(CHUNKS)
    ]
    ants = {"doc_id": "ants", "chunk_id": 0, "text": "Ants march in rows.", "prefix": "| a |\n", "scope": None}
    for more in (
        {},
        {"hits": []},
        {"config": {"token_budget": 0}},
        {"chunks": offsets, "config": {"token_budget": 8, "context_format": "xml", "span_header": "full"}},
        {"chunks": [*offsets, ants], "config": {"follow_links": 1, "window": 1}},
        {"chunks": offsets[:3], "hits": [hit(0), hit(2, 0.1), hit(0, 0.3, text="Another.")]},
        {"config": {"quotas": [1, 1]}, "hits": [[hit(0)], [hit(3)]]},
    ):
        answer = one(**more)
        assert "error" not in answer, answer
        validator.validate(answer)
        del answer["id"]
        validator.validate(answer)


def test_the_schema_is_strict_everywhere() -> None:
    def objects(node: Any) -> list[dict[str, Any]]:
        if isinstance(node, list):
            return [found for item in node for found in objects(item)]
        if not isinstance(node, dict):
            return []
        own = [node] if "properties" in node else []
        return own + [found for value in node.values() for found in objects(value)]

    for schema in (COMPOSITION, REQUEST):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert all(found["additionalProperties"] is False for found in objects(schema))
    broken = one()
    broken["spans"][0]["colour"] = "red"
    with pytest.raises(jsonschema.ValidationError, match="colour"):
        jsonschema.validate(broken, COMPOSITION)


def test_requests_have_a_schema_that_agrees_with_the_reader() -> None:
    good = request(parents={"p": "text"}, scope=["a", None], query_embedding=[1], config={"window": 1}, chunks=None)
    jsonschema.validate(good, REQUEST)
    assert set(REQUEST["properties"]) == {
        "id", "question", "hits", "chunks", "parents", "query_embedding", "scope", "whole_documents",
        "config",
    }  # fmt: skip
    for bad in ({"hits": [{"doc_id": "d"}]}, {}, {"hits": [], "colour": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, REQUEST)


@pytest.mark.parametrize(("flag", "title"), [("--schema", "composition/1"), ("--request-schema", "compose-request/1")])
def test_schemas_are_printed(flag: str, title: str) -> None:
    result = run(app, ["compose", flag])
    assert json.loads(result.stdout)["title"] == f"retrivex.{title}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["id", "hits", "chunks", "doc_id", "chunk_id", "score", "text", "scope", "config", "parents"])


@given(st.dictionaries(keys, json_values | st.lists(st.dictionaries(keys, json_values, max_size=5), max_size=3)))
def test_any_object_gives_an_answer_or_an_error(record: dict[str, Any]) -> None:
    line = json.dumps(record).encode()
    answer = answer_line(line, 1, SpanComposer(RetrievalConfig(tokenizer="estimate")), {})
    assert ("error" in answer) != ("text" in answer)


def test_an_option_that_is_not_finite_is_an_error_that_keeps_the_id() -> None:
    code, (answer,) = compose(json.dumps(request(id="a", config={"run_cost": float("inf")})))
    assert code == 1
    assert (answer["id"], answer["error"]["type"]) == ("a", "ConfigError")


def test_an_answer_that_json_cannot_hold_keeps_the_id() -> None:
    chunks = [{**CHUNKS[1], "metadata": {"x": float("nan")}}]
    code, (answer,) = compose(json.dumps(request(id="a", chunks=chunks)))
    assert code == 1
    assert answer["id"] == "a"
    assert "custom_metadata of ('bees', 1) holds 'x', which JSON cannot" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("hits", "message"),
    [
        ([{"docId": "bees", "chunkId": 1, "score": 0.8}], "lacks 'doc_id': rename 'docId'"),
        ([{"doc_id": "bees", "chunkId": 1, "score": 0.8}], "lacks 'chunk_id': rename 'chunkId'"),
        ([hit(score="high"), hit(2, score="low")], "none of 2 hits can be used: score of ('bees', 1) is 'high'"),
        ([hit("c-17")], "chunk_id the chunk's position in its document, 0, 1, 2, ...; or give the hit's text"),
        ([hit(99)], "the only hit cannot be used: ('bees', 99) is not among the chunks and brings no text"),
        ([[hit(99)], ["bees"]], "none of 2 hits can be used"),
    ],
)
def test_a_line_of_which_no_hit_can_be_read_is_an_error_with_the_way_out(hits: Any, message: str) -> None:
    code, (bad, good) = compose(request(hits=hits), request())
    assert code == 1
    assert message in bad["error"]["message"]
    assert "error" not in good


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"queryEmbedding": [1.0]}, "the key 'queryEmbedding' is unknown: did you mean query_embedding? known are"),
        (
            {"token_budget": 50},
            'the key \'token_budget\' is unknown: it is an option: write "config": {"token_budget":',
        ),
        ({"Question": "Why?"}, "the key 'Question' is unknown: did you mean question? known are"),
        ({"chunks": [{"docId": "bees", "chunkIndex": 1, "text": "Bees."}]}, "did you mean chunk_id, doc_id? the known"),
        ({"chunks": [{**CHUNKS[1], "headingPath": ["A"]}]}, "unknown key 'headingPath': did you mean heading_path?"),
        ({"hits": [hit(text="Bees.", charStart=3)]}, "unknown key 'charStart': did you mean char_start?"),
        ({"config": {"tokenBudget": 50}}, "tokenBudget: there is no such option; did you mean token_budget?"),
        ({"config": {"TOKENBUDGET": 50}}, "TOKENBUDGET: there is no such option; did you mean token_budget?"),
    ],
)
def test_keys_in_another_spelling_are_answered_with_the_right_one(more: dict[str, Any], message: str) -> None:
    assert message in one(**more)["error"]["message"]


def test_lines_that_fail_are_counted_on_standard_error() -> None:
    result = run(app, ["compose"], input=json.dumps(request(hits=[hit(99)])) + "\n")
    assert "1 line could not be composed" in result.stderr


def test_scores_and_chunk_numbers_may_be_texts() -> None:
    chunks = [{**chunk, "chunk_id": str(chunk["chunk_id"])} for chunk in CHUNKS]
    as_text = one(hits=[hit("2", "13.4"), hit("0", "7e-1")], chunks=chunks)
    plain = one(hits=[hit(2, 13.4), hit(0, 0.7)])
    assert as_text == plain
    jsonschema.validate(request(hits=[hit("2", "13.4")]), REQUEST)


@pytest.mark.parametrize("score", ["nan", "inf", "1e999", "", "ten", True, [1]])
def test_other_texts_are_no_scores(score: Any) -> None:
    assert "must be a finite number" in one(hits=[hit(score=score)])["error"]["message"]


def test_a_hit_with_its_text_may_have_any_id() -> None:
    named = "0b8e2c1e-6d57-4d5f-9f43-0d6c3f1c9b1a"
    answer = one(hits=[hit(named, text="Bees dance."), hit("c-17", text="Wasps do not.")], chunks=None)
    assert [span["text"] for span in answer["spans"]] == ["Bees dance.", "Wasps do not."]
    assert answer["spans"][0]["chunks"][0]["metadata"]["id"] == named
    assert "2 of 2 hits stay as they are: their chunk_id is no whole number" in answer["warnings"][0]


def test_the_trace_is_written_where_it_was_asked_for() -> None:
    _, (plain,) = compose(request())
    _, (traced,) = compose(request(), options=("--trace",))
    trace = traced.pop("trace")
    assert plain == traced
    assert trace["steps"][0]["name"] == "seeds"
    jsonschema.validate(plain, COMPOSITION)
    jsonschema.validate({**traced, "trace": trace}, COMPOSITION)


@pytest.mark.parametrize("option", ["coefficients", "position_profile", "tokenizer"])
@pytest.mark.parametrize("value", ["/dev/zero", "/etc/passwd", "nowhere.json", "gpt2", "cl100k_base"])
def test_a_line_names_no_files_and_no_downloads(option: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "open", lambda *_, **__: pytest.fail("a file was opened"))
    error = one(config={option: value})["error"]
    assert f"{option} is '{value}': a line may name " in error["message"]
    assert f"use --set {option}=... for all lines" in error["message"]


def test_a_line_may_name_what_comes_with_retrivex_or_what_the_command_line_names(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    PROFILES["u_curve"].save(own)
    lines = [{"coefficients": "0.2"}, {"position_profile": "u_curve"}, {"tokenizer": "estimate"}, {"tokenizer": "auto"}]
    code, answers = compose(*(request(config=config) for config in lines))
    assert [answer for answer in answers if "error" in answer] == []
    assert code == 0
    assert compose(request(), options=("--set", f"position_profile={own}"))[0] == 0
