from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small_data import sentences, write_data

from benchmarks.suites.ruler.needles import NOISE, EssayHay
from benchmarks.suites.ruler.sample import Sample, write_samples
from benchmarks.suites.ruler.sets import TASKS, ruler, ruler_samples
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet
from retrivex.tokens.tokenizer import get_tokenizer

COUNTER = get_tokenizer("cl100k_base")
TOKENS = 1500
WORD = r"[a-z]+-[a-z]+"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
NUMBER = r"\d{7}"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


def made(task: str, data: Path, tokens: int = TOKENS, samples: int = 3) -> list[Sample]:
    return ruler_samples(task, tokens, data, samples=samples)


def shown(sample: Sample) -> list[str]:
    return [sample.context.text[start:end] for start, end in sample.context.marks]


def needles(sample: Sample) -> list[tuple[str, str, str]]:
    """Kind, key and value of every needle of the context."""
    return re.findall(r"One of the special magic (\w+) for ([\w-]+) is: ([\w-]+)\.", sample.context.text)


@given(task=st.sampled_from(TASKS), tokens=st.integers(1100, 1900), seed=st.integers(0, 999))
def test_samples_are_as_long_as_asked_for_and_evidence_is_at_its_place(
    small: Path, task: str, tokens: int, seed: int
) -> None:
    (sample,) = ruler_samples(task, tokens, small, samples=1, seed=seed)
    assert sample.length(COUNTER) <= tokens
    # a needle of UUIDs is the longest piece of hay, some 60 tokens, but for paragraphs, which may also run out; and
    # with another piece all pieces are drawn anew
    assert sample.length(COUNTER) >= tokens - (0.1 * tokens if task.startswith("qa") else max(90, 0.01 * tokens))
    found = ruler(task, tokens, [sample])
    (question,) = found.questions
    held = [found.documents[part.doc_id][part.start : part.end] for part in question.evidence]
    assert held == shown(sample)
    assert all(text.strip() == text != "" for text in held)
    if task.startswith("niah"):
        assert all(any(f"is: {output}." in text for text in held) for output in sample.outputs)
    if held:
        (text,) = found.documents.values()
        assert abs(question.factors["depth"] - 100 * text.index(held[0]) / len(text)) <= 0.5


@pytest.mark.parametrize(
    ("task", "key", "value", "hidden", "answers"),
    [
        ("niah_single_1", WORD, NUMBER, 1, 1),
        ("niah_single_2", WORD, NUMBER, 1, 1),
        ("niah_single_3", WORD, UUID, 1, 1),
        ("niah_multikey_1", WORD, NUMBER, 4, 1),
        ("niah_multikey_2", WORD, NUMBER, None, 1),
        ("niah_multikey_3", UUID, UUID, None, 1),
        ("niah_multivalue", WORD, NUMBER, 4, 4),
        ("niah_multiquery", WORD, NUMBER, 4, 4),
    ],
)
def test_needle_tasks_are_as_published(
    small: Path, task: str, key: str, value: str, hidden: int | None, answers: int
) -> None:
    for sample in made(task, small):
        held = needles(sample)
        assert all(re.fullmatch(key, of) and re.fullmatch(value, what) for _, of, what in held)
        assert len(held) == hidden if hidden else len(held) > 20
        assert len({what for _, _, what in held}) == len(held)
        assert len(sample.outputs) == len(sample.context.marks) == answers
        asked = {of for _, of, what in held if what in sample.outputs}
        assert len(asked) == (4 if task == "niah_multiquery" else 1)
        assert all(of in sample.question for of in asked)
        assert [sample.input.count(output) for output in sample.outputs] == [1] * answers


def test_needle_tasks_are_worded_as_published(small: Path) -> None:
    one = made("niah_single_1", small)[0]
    key = needles(one)[0][1]
    assert one.input.startswith(
        "A special magic number is hidden within the following text. Make sure to memorize it. I will quiz you about "
        "the number afterwards.\n"
    )
    assert one.input.endswith(f"\nWhat is the special magic number for {key} mentioned in the provided text?")
    assert one.answer_prefix == f" The special magic number for {key} mentioned in the provided text is"
    several = made("niah_multiquery", small)[0]
    keys = [next(of for _, of, what in needles(several) if what == output) for output in several.outputs]
    asked = f"{keys[0]}, {keys[1]}, {keys[2]}, and {keys[3]}"
    assert several.input.startswith("Some special magic numbers are hidden within the following text.")
    assert several.question == f"What are all the special magic numbers for {asked} mentioned in the provided text?"
    assert several.answer_prefix == f" The special magic numbers for {asked} mentioned in the provided text are"


def test_hay_is_noise_essays_or_other_needles(small: Path) -> None:
    noise = made("niah_single_1", small)[0].context.text.split("\n")
    assert set(noise) - {NOISE} == {shown(made("niah_single_1", small)[0])[0]}
    others = made("niah_multikey_2", small)[0].context.text.split("\n")
    assert all(line.startswith("One of the special magic numbers for ") for line in others)
    essays = made("niah_single_2", small)[0]
    first = (small / "paul_graham_essays" / "art.txt").read_text(encoding="utf-8").split()
    left = essays.context.text.replace(shown(essays)[0], "").split()
    assert left[:200] == first[:200]


def test_essays_begin_again_where_they_end() -> None:
    text = " ".join(sentences(3, 1))
    hay = EssayHay([text])
    words = text.split()
    for count in (1, len(words) - 1, len(words), len(words) + 1, 3 * len(words) + 2):
        assert " ".join(hay.sentences(count)).split() == (words * 4)[:count]


def test_variables_follow_from_one_value(small: Path) -> None:
    for sample in made("vt", small):
        value = re.fullmatch(
            r"Find all variables that are assigned the value (\d{5}) in the text above\.", sample.question
        )
        first, *others = shown(sample)
        assert value
        assert first == f"VAR {sample.outputs[0]} = {value[1]}"
        assert others == [
            f"VAR {name} = VAR {of}" for of, name in zip(sample.outputs, sample.outputs[1:], strict=False)
        ]
        assert len(set(sample.outputs)) == 5
        assert sample.before.count("Memorize and track the chain(s)") == 2  # a worked example stands before
        assert re.search(r"they are:  [A-Z]{3}( [A-Z]{3}){4}\n\nMemorize", sample.before)
        assert set(sample.context.text.split("\n")) <= {NOISE, first, *(f"{link} " for link in others)}


def test_common_words_are_counted(small: Path) -> None:
    for tokens, times in ((TOKENS, (6, 1)), (4096, (30, 3))):
        for sample in made("cwe", small, tokens):
            listed = re.findall(r"(\d+)\. ([a-z]+)", sample.context.text)
            assert [int(number) for number, _ in listed] == list(range(1, len(listed) + 1))
            counts = Counter(word for _, word in listed)
            assert {counts.pop(word) for word in sample.outputs} == {times[0]}
            assert set(counts.values()) == {times[1]}
            assert len(sample.outputs) == 10


def test_frequent_words_fall_with_the_square_of_their_rank(small: Path) -> None:
    for sample in made("fwe", small, 4096):
        counts = Counter(sample.context.text.split())
        ranked = counts.most_common(5)
        assert ranked[0][0] == "..."
        assert [word for word, _ in ranked[1:4]] == list(sample.outputs)
        assert all(len(word) == 6 for word in sample.outputs)
        for rank, (_, count) in enumerate(ranked, 1):
            assert abs(count - ranked[0][1] / rank**2) <= 1


@pytest.mark.parametrize("task", ["cwe", "fwe"])
def test_tasks_of_counting_have_no_evidence(small: Path, task: str) -> None:
    found = ruler(task, TOKENS, made(task, small))
    assert all(question.evidence == () and "depth" not in question.factors for question in found.questions)


def test_questions_of_squad(small: Path) -> None:
    samples = made("qa_1", small, samples=100)
    assert len(samples) == 24  # of the small file, those that have answers
    for sample in samples:
        place = sample.question.removeprefix("Where is market ").removesuffix("?")
        assert shown(sample) == [f"Place {place}"]
        assert sample.outputs == (f"Place {place}", "market")
        assert sample.needed == "any"
        paragraphs = sample.context.text.split("\n\n")
        assert [text.partition("\n")[0] for text in paragraphs] == [
            f"Document {number}:" for number in range(1, len(paragraphs) + 1)
        ]
        own = [text for text in paragraphs if f"in Place {place[0]}" in text]
        assert len(own) == 6 or len(own) == len(paragraphs)  # paragraphs of the same article come before others


def test_questions_of_hotpotqa(small: Path) -> None:
    for sample in made("qa_2", small):
        number = sample.question.removeprefix("What joins ").removesuffix("?")
        assert sorted(shown(sample)) == [f"Fact {number}.{part} stands here." for part in (3, 7)]
        assert all(f"Title {number}.{part}\n" in sample.context.text for part in range(10))


def test_lengths_beyond_the_data_are_refused_with_how_far_they_reach(small: Path) -> None:
    with pytest.raises(LoadError, match=r"a sample of qa_2 cannot have 65536 tokens: the data at hand suffice for \d+"):
        made("qa_2", small, 65_536)
    with pytest.raises(LoadError, match=r"a sample of vt has \d+ tokens at least, 100 are too few"):
        made("vt", small, 100)


def test_what_is_unknown_or_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"task 'niah' is unknown: choose from niah_single_1, .*qa_2"):
        made("niah", tmp_path)
    with pytest.raises(LoadError, match="no essay is in"):
        made("niah_single_2", tmp_path)
    with pytest.raises(LoadError, match=r"no \.json file is in"):
        made("qa_1", tmp_path)
    (tmp_path / "hotpotqa").mkdir()
    (tmp_path / "hotpotqa" / "broken.json").write_text("[", encoding="utf-8")
    with pytest.raises(LoadError, match=r"broken\.json cannot be read"):
        made("qa_2", tmp_path)


@pytest.mark.parametrize("text", ['{"data": [{"title": "no paragraphs"}]}', "[1]", "3"])
def test_files_in_another_layout_are_said(tmp_path: Path, text: str) -> None:
    for folder in ("squad", "hotpotqa"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "other.json").write_text(text, encoding="utf-8")
    for task in ("qa_1", "qa_2"):
        with pytest.raises(LoadError, match=r"other\.json is not in the set's own layout"):
            made(task, tmp_path)


def test_an_answer_that_is_not_where_the_file_says_is_an_error(tmp_path: Path) -> None:
    path = write_data(tmp_path) / "squad" / "dev-v2.0.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["data"][1]["paragraphs"][2]["qas"][0]["answers"][0]["answer_start"] += 1
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(LoadError, match=r"cannot be read \(question '1/2': its answer does not stand at \d+\)"):
        made("qa_1", tmp_path)


def test_files_without_questions_or_words_are_said(tmp_path: Path) -> None:
    for name, text in (("squad/none.json", '{"data": []}'), ("paul_graham_essays/blank.txt", " ")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(LoadError, match=r"no question with an answer is in .*none\.json"):
        made("qa_1", tmp_path)
    with pytest.raises(LoadError, match="1 essays hold no word"):
        made("niah_single_2", tmp_path)


def test_short_coded_texts_still_have_three_words(small: Path) -> None:
    (sample,) = made("fwe", small, 300, samples=1)
    assert len(set(sample.outputs)) == 3
    with pytest.raises(LoadError, match="too few"):
        made("fwe", small, 150)


def test_a_sample_is_a_question_asked_of_its_own_document(small: Path) -> None:
    found = ruler("vt", TOKENS, made("vt", small))
    assert isinstance(found, EvidenceSet)
    assert found.name == f"ruler/vt/{TOKENS}"
    for number, question in enumerate(found.questions):
        assert question.within == (f"vt/{TOKENS}/{number}",)
        assert len(question.evidence) == 5
        assert question.needed == "all"
        assert question.factors["task"] == "vt"
        assert question.factors["tokens"] == TOKENS
        assert isinstance(question.factors["depth"], int)


@pytest.mark.parametrize("task", TASKS)
def test_samples_are_written_in_the_official_layout(small: Path, tmp_path: Path, task: str) -> None:
    samples = made(task, small)
    path = tmp_path / "validation.jsonl"
    write_samples(path, samples, COUNTER)
    lines = path.read_bytes().decode().split("\n")
    assert lines.pop() == ""
    for number, (line, sample) in enumerate(zip(lines, samples, strict=True)):
        record = json.loads(line)
        assert list(record) == ["index", "input", "outputs", "length", "answer_prefix", "token_position_answer"]
        assert record["index"] == number
        assert record["input"] == sample.before + sample.context.text + sample.after
        assert record["outputs"] == list(sample.outputs)
        room = {"vt": 30, "cwe": 120, "fwe": 50, "qa_1": 32, "qa_2": 32}.get(task, 128)
        assert record["length"] == COUNTER.count(record["input"] + record["answer_prefix"]) + room
        before = record["input"].partition(record["outputs"][0])[0]
        assert record["token_position_answer"] == COUNTER.count(before)


def test_an_answer_that_the_prompt_does_not_hold_has_no_position(tmp_path: Path, small: Path) -> None:
    sample = made("niah_single_1", small)[0]
    path = tmp_path / "validation.jsonl"
    unsaid = Sample(sample.before, sample.context, sample.after, sample.question, "", ("unsaid",), sample.room)
    write_samples(path, [unsaid], COUNTER)
    assert json.loads(path.read_text(encoding="utf-8"))["token_position_answer"] == -1


def test_multikey_3_has_the_shape_of_the_reference(data_dir: Path) -> None:
    path = data_dir / "ruler_reference" / "4096" / "niah_multikey_3.jsonl"
    reference = [json.loads(line) for line in path.read_text(encoding="utf-8").strip().split("\n")]
    samples = ruler_samples("niah_multikey_3", 4096, data_dir, samples=20)

    def shape(text: str) -> str:
        return re.sub(UUID, "<uuid>", text)

    sizes = [len(re.findall("One of the special magic uuids for", record["input"])) for record in reference]
    tokens_each = [record["length"] / size for record, size in zip(reference, sizes, strict=True)]
    for record in reference:
        value = record["outputs"][0]
        assert record["input"].count(value) == 1
    for sample in samples:
        prompt = sample.input + sample.answer_prefix
        assert sample.input.count(sample.outputs[0]) == 1
        # the same lines, whatever their number: RULER's sample was sized in steps of 25
        assert set(shape(prompt).split("\n")) == set(shape(reference[0]["input"]).split("\n"))
        size = len(needles(sample))
        assert min(tokens_each) * 0.95 <= sample.length(COUNTER) / size <= max(tokens_each) * 1.05
        assert sample.length(COUNTER) >= max(record["length"] for record in reference)


@pytest.mark.parametrize(("task", "reached"), [("qa_1", 59_000), ("qa_2", 84_000)])
def test_how_far_the_questions_at_hand_reach(data_dir: Path, task: str, reached: int) -> None:
    with pytest.raises(LoadError, match=rf"suffice for {reached // 1000}\d\d\d"):
        ruler_samples(task, 131_072, data_dir, samples=1)
