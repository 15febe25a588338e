from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.service_world import BEES, CHUNKS, COMPOSE, PASSAGES, make_engine, make_index

from retrivex import Document, RetrievalConfig
from retrivex.chunking import get_chunker
from retrivex.composer.requests import RequestError
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import ConfigError, LoadError, RetrivexError, StoreError
from retrivex.retrieval.indexing import Indexer
from retrivex.scoring.calibrated import shipped_coefficients
from retrivex.service.access import Access
from retrivex.service.bounds import Bounds
from retrivex.service.engine import ANYONE, Engine
from retrivex.service.errors import AccessError, ConflictError, LimitError, NotFoundError
from retrivex.service.index import Index
from retrivex.service.mcp.tools import search
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import get_tokenizer

ACME = Access("k1", frozenset({"acme"}))
WAYNE = Access("k2", frozenset({"wayne"}))
BOTH = Access("k3", frozenset({"acme", None}))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = make_engine(make_index(tmp_path / "index.db"))
    yield made
    made.close()


def test_text_around_a_citation_is_cut_at_the_document(engine: Engine) -> None:
    found = engine.resolve({"doc_id": "bees.md", "char_start": 5, "char_end": 9, "around": 7})
    assert (found["before"], found["text"], found["after"]) == ("Bees ", "live", " in hiv")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"char_start": 60, "char_end": 99}, "outside 'bees.md', which has 64"),
        ({"char_start": 9, "char_end": 5}, "characters 9-5 end before they start"),
        ({}, "neither offsets nor a chunk_id"),
    ],
)
def test_a_citation_that_points_nowhere_is_refused(engine: Engine, more: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        engine.resolve({"doc_id": "bees.md", **more})


def test_a_citation_by_chunk(engine: Engine) -> None:
    assert engine.resolve({"doc_id": "bees.md", "chunk_id": 0})["text"].startswith("Bees live")
    with pytest.raises(NotFoundError, match=r"'bees\.md' has no chunk 99, it has chunks 0 to 0: cite one of them"):
        engine.resolve({"doc_id": "bees.md", "chunk_id": 99})


# ---- sub-questions, whole documents

TOPICS = (
    Document("queens.md", "The queen lays eggs. " + "Filler about roads and trade. " * 40),
    Document("mites.md", "Mites weaken colonies. " + "Filler about music and law. " * 40),
    Document("short.md", "Wasps sting. They build nests of paper. Their nests hang in trees."),
)
PARTS = ["Who lays eggs?", "What weakens colonies?"]


def test_each_sub_question_is_searched_for_and_values_its_own(tmp_path: Path) -> None:
    engine = make_engine(make_index(tmp_path / "topics.db", *TOPICS))
    asked = {"question": "Tell me about trees.", "config": {"token_budget": 120}}
    made = engine.query({**asked, "sub_questions": [*PARTS, PARTS[0]], "trace": True})
    assert {span.doc_id for span in made.spans} == {"queens.md", "mites.md"}
    assert set(made.questions) == set(PARTS)
    assert made.question == "Tell me about trees."
    assert {span.doc_id for span in engine.query(asked).spans} == {"short.md"}
    written = search(engine, {"question": "Tell me about trees.", "budget": 120, "sub_questions": PARTS}, ANYONE)
    assert "[1] " in written
    assert ("queens.md#" in written, "mites.md#" in written, "short.md#" in written) == (True, True, False)
    for wrong in ([], [" "], "Why?"):
        with pytest.raises(RequestError, match="sub_questions"):
            engine.query({**asked, "sub_questions": wrong})
    engine.close()


def test_short_documents_are_shown_whole_over_http_and_with_hits_of_a_request(tmp_path: Path) -> None:
    engine = make_engine(make_index(tmp_path / "topics.db", *TOPICS))
    asked = {"question": "What do wasps do?", "config": {"window": 0, "effort": "lean"}}
    chunks = [
        {"doc_id": "short", "chunk_id": n, "text": text}
        for n, text in enumerate(("Wasps sting.", "They build nests of paper.", "Their nests hang in trees."))
    ]
    given = {
        **asked,
        "chunks": chunks,
        "hits": {"What do wasps do?": [{"doc_id": "short", "chunk_id": 0, "score": 1.0}]},
    }
    assert TOPICS[2].text in engine.query({**asked, "whole_documents": 100}).text
    assert engine.compose({**given, "whole_documents": 100}).trace.selection["whole_documents"] == ["short"]
    assert "trees" in engine.compose({**given, "whole_documents": 100}).text
    assert "trees" not in engine.compose(given).text
    for body, ask in ((asked, engine.query), (given, engine.compose)):
        with pytest.raises(RetrivexError, match="whole_documents"):
            ask({**body, "whole_documents": 0})
    engine.close()


# ---- scopes


def test_a_key_sees_its_scopes_alone(engine: Engine) -> None:
    question = {"question": "Which rocket is planned?"}
    assert "Vulture" in engine.query(question, ACME).text
    assert "Bat" in engine.query(question, WAYNE).text
    assert engine.query(question).text == ""
    assert [info.doc_id for info in engine.list_documents(ACME)] == ["acme:plan.md"]
    assert [info.doc_id for info in engine.list_documents(BOTH)] == ["acme:plan.md", "bees.md"]
    assert len(engine.list_documents()) == 3


def test_a_request_narrows_its_scope_and_never_widens_it(engine: Engine) -> None:
    assert [info.doc_id for info in engine.list_documents(BOTH, scope=[None])] == ["bees.md"]
    for asked in ("wayne", ["acme", "wayne"], [None]):
        with pytest.raises(AccessError, match="none of this key"):
            engine.query({"question": "Rockets?", "scope": asked}, ACME)
    with pytest.raises(AccessError, match="none of this key"):
        engine.compose({**COMPOSE, "scope": "wayne"}, ACME)


def test_what_another_key_owns_is_not_there(engine: Engine) -> None:
    citation = {"doc_id": "wayne:plan.md", "char_start": 0, "char_end": 5}
    with pytest.raises(NotFoundError) as hidden:
        engine.resolve(citation, ACME)
    with pytest.raises(NotFoundError) as absent:
        engine.resolve({**citation, "doc_id": "other.md"}, ACME)
    assert str(hidden.value).replace("wayne:plan.md", "other.md") == str(absent.value)
    with pytest.raises(NotFoundError):
        engine.delete_document("wayne:plan.md", ACME)
    assert engine.query({"question": "rocket"}, WAYNE).text


def test_chunks_of_a_request_are_seen_whoever_asks(engine: Engine) -> None:
    own = [{**chunk, "scope": "acme"} for chunk in CHUNKS]
    assert engine.compose({**COMPOSE, "chunks": own}, ACME).text
    assert engine.compose(COMPOSE, ACME).text
    assert not engine.compose({**COMPOSE, "chunks": own}, WAYNE).text


# ---- documents


def test_the_same_name_of_two_keys_is_two_documents(engine: Engine) -> None:
    first = engine.add_file(b"Acme sells anvils.", "goods.md", ACME)
    second = engine.add_file(b"Wayne sells capes.", "../goods.md", WAYNE)
    assert [added.doc_id for added in (*first, *second)] == ["acme:goods.md", "wayne:goods.md"]
    assert "anvils" in engine.query({"question": "Who sells what?"}, ACME).text
    again = engine.add_file(b"Acme sells anvils.", "goods.md", ACME)
    assert [added.result for added in again] == ["unchanged"]
    engine.delete_document("acme:goods.md", ACME)
    assert "anvils" not in engine.query({"question": "Who sells what?"}, ACME).text


def test_a_key_without_a_scope_takes_no_name_of_a_tenant(engine: Engine) -> None:
    lines = "\n".join(json.dumps({"doc_id": f"acme:{name}", "text": "Of nobody."}) for name in ("plan.md", "notes.md"))
    made = engine.add_file(lines.encode(), "x.jsonl", Access("k3", frozenset({None})))
    # the same answer for a name that is taken and one that is free
    assert [(added.doc_id, added.result) for added in made] == [(":acme:plan.md", "added"), (":acme:notes.md", "added")]
    assert [added.result for added in engine.add_file(b"Of acme.", "notes.md", ACME)] == ["added"]
    alone = engine.add_file(b'{"doc_id": "urn:bees", "text": "Of anyone."}', "x.jsonl")  # nobody needs a key
    assert [added.doc_id for added in alone] == ["urn:bees"]


def test_an_upload_of_too_many_documents_is_refused_whole(tmp_path: Path) -> None:
    engine = make_engine(make_index(tmp_path / "index.db"), bounds=Bounds(documents=2))
    before = engine.list_documents()
    lines = "\n".join(json.dumps({"doc_id": str(number), "text": "Bees."}) for number in range(3))
    with pytest.raises(LimitError, match="3 documents in a file: a request may have 2"):
        engine.add_file(lines.encode(), "x.jsonl")
    assert engine.list_documents() == before
    engine.close()


def test_a_line_of_an_upload_has_a_bound_and_a_text_file_has_not(tmp_path: Path) -> None:
    engine = make_engine(make_index(tmp_path / "index.db"), bounds=Bounds(line_bytes=100))
    line = json.dumps({"doc_id": "a", "text": "Bees sleep. " * 20}).encode()
    with pytest.raises(LoadError, match=r"x\.jsonl: line 1 is over 100 bytes"):
        engine.add_file(line, "x.jsonl")
    assert engine.add_file(b"Bees sleep. " * 20, "x.txt")[0].result == "added"
    engine.close()


def test_a_name_of_another_scope_is_taken(tmp_path: Path) -> None:
    engine = make_engine(make_index(tmp_path / "index.db", Document("notes.md", "Of acme.", scope="acme")))
    with pytest.raises(ConflictError, match="taken"):
        engine.add_file(b"Of nobody.", "notes.md")
    engine.close()


@pytest.mark.parametrize(
    "name", ["", "..", "a\x00.md", "a:b.md", "program.exe", "no-ending", "x" * 300 + ".md", "a\ud800.md"]
)
def test_a_file_of_a_wrong_name_or_type_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(LoadError):
        engine.add_file(b"text", name)


def test_lines_of_jsonl_are_documents_of_the_scope_of_the_upload(engine: Engine) -> None:
    lines = [{"doc_id": "a", "text": "Ants march."}, {"doc_id": "b", "text": "Wasps sting.", "scope": "acme"}]
    raw = "\n".join(json.dumps(line) for line in lines).encode()
    assert [added.doc_id for added in engine.add_file(raw, "lines.jsonl", ACME)] == ["acme:a", "acme:b"]
    with pytest.raises(AccessError, match="names the scope 'acme'"):
        engine.add_file(raw, "lines.jsonl", WAYNE)


def test_what_is_wrong_with_a_file_names_no_folder_of_the_machine(engine: Engine) -> None:
    with pytest.raises(LoadError) as raised:
        engine.add_file(b"", "empty.md")
    assert str(raised.value).startswith("empty.md: ")
    assert "/" not in str(raised.value)


def test_a_store_that_fails_names_no_file_of_the_machine(tmp_path: Path) -> None:
    engine = make_engine(make_index(tmp_path / "index.db"))
    engine.close()
    with pytest.raises(StoreError) as raised:
        engine.query({"question": "Bees?"})
    assert str(tmp_path) not in str(raised.value)


def test_a_read_only_index_takes_no_documents(tmp_path: Path) -> None:
    tokenizer = get_tokenizer("estimate")
    index = Index("default", make_index(tmp_path / "index.db"), tokenizer, read_only=True)
    engine = Engine([index], tokenizer=tokenizer)
    with pytest.raises(AccessError, match="read-only"):
        engine.add_file(b"Text.", "a.md")
    with pytest.raises(AccessError, match="read-only"):
        engine.delete_document("bees.md")
    engine.close()


def test_a_window_of_null_takes_the_window_of_the_service_away(tmp_path: Path) -> None:
    text = "\n\n".join(f"# Part {n}\n\n" + (f"Part {n} tells of winter{n}. " * 40) for n in range(12))
    path = make_index(tmp_path / "index.db", Document("parts.md", text))
    narrow, usual = make_engine(path, config=RetrievalConfig(window=1)), make_engine(path)

    def view(engine: Engine, settings: dict[str, Any]) -> dict[str, Any]:
        [answer] = engine.view({"question": "What of winter6?", "settings": settings})["answers"]
        return {name: answer[name] for name in ("settings", "context")}

    assert view(narrow, {})["settings"]["window"] == 1
    assert view(narrow, {"window": None}) == view(usual, {})
    assert view(narrow, {"window": None}) != view(narrow, {})
    narrow.close()
    usual.close()


def test_documents_are_listed_in_pages(engine: Engine) -> None:
    first = engine.list_documents(most=2)
    rest = engine.list_documents(most=2, after=first[-1].doc_id)
    assert [info.doc_id for info in (*first, *rest)] == ["acme:plan.md", "bees.md", "wayne:plan.md"]


def test_another_engine_sees_a_new_document_at_once(tmp_path: Path) -> None:
    path = make_index(tmp_path / "index.db")
    one, other = make_engine(path), make_engine(path)
    one.add_file(b"Wasps build nests of paper.", "wasps.md")
    assert "paper" in other.query({"question": "What do wasps build?"}).text
    one.close()
    other.close()


# ---- passages and prompts


def test_passages_are_ordered_and_deduplicated(engine: Engine) -> None:
    ordered = engine.reorder({"passages": PASSAGES, "options": {"strategy": "score_desc", "top_k": 2}})
    assert [passage["id"] for passage in ordered["passages"]] == [0, 1]
    assert ordered["diagnostics"]["output_count"] == 2
    unique = engine.deduplicate({"passages": PASSAGES})
    assert [passage["id"] for passage in unique["passages"]] == [0, 1, 2]
    assert [(duplicate["position"], duplicate["kept"]) for duplicate in unique["duplicates"]] == [(3, 0)]


def test_a_prompt_of_a_question_a_request_or_an_answer(engine: Engine) -> None:
    composition = engine.compose(COMPOSE).to_dict()
    for source in ({"query": {"question": "Who lays eggs?"}}, {"compose": COMPOSE}, {"composition": composition}):
        prompt, made = engine.prompt({**source, "max_tokens": 500})
        assert "She lays all the eggs." in json.dumps(prompt.messages)
        assert made.question == "Who lays eggs?"
    with pytest.raises(RequestError, match="only one"):
        engine.prompt({"query": {"question": "?"}, "compose": COMPOSE})


# ---- limits


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coefficients", "/etc/passwd"),
        ("tokenizer", "/etc/passwd"),
        ("tokenizer", "gpt2"),
        ("position_profile", "/etc/secret.json"),
        ("window", 101),
        ("max_window", 10_000),
        ("token_budget", 10**9),
        ("token_budget", "1_000_000_000"),
        ("window", "101"),
        ("window", (1, 101)),
        ("window", ["101", 1]),
    ],
)
def test_an_option_that_is_too_large_or_names_a_file_is_refused(engine: Engine, name: str, value: Any) -> None:
    for call, body in ((engine.compose, COMPOSE), (engine.query, {"question": "Bees?"})):
        with pytest.raises(LimitError, match=name):
            call({**body, "config": {name: value}})


def test_options_of_the_reorderer_name_no_files(engine: Engine) -> None:
    for options in (
        {"tokenizer": "/etc/passwd"},
        {"profile": "x.json"},
        {"max_tokens": 10**9},
        {"max_tokens": "1000000000"},
    ):
        with pytest.raises(LimitError):
            engine.reorder({"passages": PASSAGES, "options": options})
    assert engine.reorder({"passages": PASSAGES, "options": {"tokenizer": "auto", "max_tokens": 20}})


def test_a_request_has_bounds(tmp_path: Path) -> None:
    bounds = Bounds(hits=2, chunks=3, characters=40, listed=5, name=9)
    engine = make_engine(make_index(tmp_path / "index.db"), bounds=bounds)
    hits = COMPOSE["hits"]
    for body in (
        {**COMPOSE, "hits": hits * 3},
        {**COMPOSE, "hits": [hits, hits, hits]},
        {**COMPOSE, "hits": [hits, *hits, *hits]},
        {**COMPOSE, "hits": [[], {**hits[0], "text": "x" * 41}]},
        {**COMPOSE, "parents": {"one": "text"}},
        {**COMPOSE, "question": "x" * 41},
        {**COMPOSE, "chunks": [{**CHUNKS[0], "text": "x" * 41}]},
        {**COMPOSE, "hits": [{**hits[0], "doc_id": "x" * 10}]},
        {**COMPOSE, "chunks": [{**CHUNKS[0], "doc_id": "x" * 10}]},
    ):
        with pytest.raises(LimitError):
            engine.compose(body)
    with pytest.raises(LimitError, match="3 hits: a request may have 2"):
        engine.query({"question": "Bees?", "k": 3})
    with pytest.raises(LimitError, match="passages"):
        engine.deduplicate({"passages": PASSAGES})
    with pytest.raises(LimitError, match="documents"):
        engine.list_documents(most=6)
    turns = [{"role": "user", "content": "x" * 30}, {"role": "assistant", "content": "y" * 11}]
    with pytest.raises(LimitError, match=r"history has \d+ characters: the limit is 40"):
        engine.prompt({"question": "Bees?", "query": {"question": "Bees?"}, "history": turns, "max_tokens": 500})
    with pytest.raises(LimitError, match=r"passages of the composition has \d+ characters"):
        engine.prompt({"question": "Bees?", "query": {"question": "Bees?", "k": 2}, "max_tokens": 500})
    engine.close()


def test_a_database_that_gets_its_vectors_while_it_is_served_takes_no_more_uploads(tmp_path: Path) -> None:
    path = make_index(tmp_path / "index.db")
    engine = make_engine(path)
    assert engine.query({"question": "Who lays eggs?"}).spans
    encoder, tokenizer = HashingEncoder(64), get_tokenizer("estimate")
    with SQLiteStore(path) as store:
        store.delete("bees.md")
        Indexer(store, get_chunker("auto", tokenizer=tokenizer), tokenizer, encoder).add(Document("bees.md", BEES))
    with pytest.raises(StoreError, match="start the service again"):
        engine.add_file(b"Someone smiles at noon.", "q.txt")
    assert engine.query({"question": "Who lays eggs?"}).spans
    engine.close()


def test_an_upload_that_cannot_get_its_vectors_is_refused(tmp_path: Path) -> None:
    class Unknown(HashingEncoder):
        def __init__(self) -> None:
            super().__init__(64)
            self.name = "unknown-model"

    path = make_index(tmp_path / "index.db")
    tokenizer = get_tokenizer("estimate")
    with SQLiteStore(path) as store:
        chunker = get_chunker("auto", tokenizer=tokenizer)
        Indexer(store, chunker, tokenizer, Unknown()).add(Document("ants.md", "Ants dig."))
    engine = make_engine(path)
    with pytest.raises(StoreError, match="'unknown-model', which this service cannot make"):
        engine.add_file(b"Someone smiles at noon.", "q.txt")
    assert engine.query({"question": "Who lays eggs?"}).spans
    engine.close()


def test_an_answer_names_no_file_of_the_machine(tmp_path: Path) -> None:
    fitted = tmp_path / "secret-place" / "fitted.json"
    fitted.parent.mkdir()
    fitted.write_text(json.dumps(shipped_coefficients().to_dict()), encoding="utf-8")
    named = RetrievalConfig(coefficients=fitted, tokenizer=str(tmp_path / "secret-place" / "tokenizer.json"))
    engine = make_engine(make_index(tmp_path / "index.db"), config=named)
    said = json.dumps(engine.view({"question": "Who lays eggs?", "settings": {"window": 1}}))
    assert "queen" in said
    assert "secret-place" not in said
    with pytest.raises(LimitError) as refused:
        engine.query({"question": "Who?", "config": {"tokenizer": "gpt2"}})
    assert "secret-place" not in str(refused.value)
    engine.close()


def test_deep_nesting_is_refused(engine: Engine) -> None:
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    with pytest.raises(LimitError, match="64 levels"):
        engine.compose({**COMPOSE, "id": deep})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "'question' is missing"),
        ({"question": 5}, "question is 5: it should be a valid string"),
        ({"question": "?", "quest": 1}, "the key 'quest' is unknown: known are question, index"),
        ({"question": "?", "k": "5"}, "k is '5'"),
        ({"question": "?", "k": 0}, "k is 0"),
        ({"question": "?", "mode": "magic"}, "mode is 'magic'"),
        ([1], "the body is a list"),
    ],
)
def test_a_wrong_body_says_the_value_and_the_rule(engine: Engine, body: Any, message: str) -> None:
    with pytest.raises(RequestError) as raised:
        engine.query(body)
    assert message in str(raised.value)


def test_what_the_library_refuses_comes_through(engine: Engine) -> None:
    with pytest.raises(ConfigError):
        engine.query({"question": "Bees?", "config": {"window": -1}})
    with pytest.raises(NotFoundError, match="there is no index 'other': this service has default"):
        engine.query({"question": "Bees?", "index": "other"})
    with pytest.raises(RetrivexError):
        engine.query({"question": "Bees?", "where": {"nonsense": 1}})
