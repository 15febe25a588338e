from __future__ import annotations

import base64
import json
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import requests
import tiktoken
import tiktoken.load
import tiktoken.registry
from hypothesis import example, given
from hypothesis import strategies as st
from tiktoken_ext.openai_public import r50k_pat_str

from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer
from retrivex.errors import TokenizerError
from retrivex.tokens import tokenizer as tokens
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.estimate import EstimateTokenizer
from retrivex.tokens.huggingface import HuggingFaceTokenizer
from retrivex.tokens.tokenizer import (
    CallableTokenizer,
    TiktokenTokenizer,
    TokenEstimateWarning,
    Tokenizer,
    get_tokenizer,
    resolve_tokenizer,
)

ENCODINGS = ("cl100k_base", "o200k_base")
WORDS = {"[UNK]": 0, "a": 1, "span": 2, "[CLS]": 3}


@pytest.fixture(params=ENCODINGS)
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start as in a new process: no encoding loaded, no tokenizer resolved, nobody warned."""
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr(tokens, "_named", {})
    monkeypatch.setattr(tokens, "_warned", threading.Event())


@pytest.fixture
def offline(fresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Take the cache and the network away; returns the addresses that were asked for."""
    asked: list[str] = []

    def refuse(url: str, **_: object) -> None:
        asked.append(url)
        raise requests.ConnectionError("no route to host")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(requests, "get", refuse)
    return asked


# --- tiktoken


@given(st.text(max_size=300))
@example("<|endoftext|> is text")
@example("lone \ud800 surrogate")
def test_tiktoken_counts_are_those_of_encode_ordinary(text: str) -> None:
    for name in ENCODINGS:
        expected = len(tiktoken.get_encoding(name).encode_ordinary(text))
        assert TiktokenTokenizer(name).count(text) == expected
        assert TiktokenTokenizer(name).count_many([text, ""]) == [expected, 0]


MARKS = [
    "\n\n",
    "\n",
    "\r\n",
    " ",
    "\t",
    "/",
    ".",
    "...",
    "_",
    "\u3000",
    "\x85",
    "\x1c",
    "\u200b",
    "[1]",
    "<|endoftext|>",
]
WRITTEN = st.lists(st.sampled_from([*MARKS, "<|endoftext|>", "a", "It's", "12", "é", "蜂", "\ud83d"])).map("".join)


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
@given(st.data())
def test_counts_of_parts_add_up(encoding: str, data: st.DataObject) -> None:
    tokenizer = TiktokenTokenizer(encoding)
    text = data.draw(WRITTEN | st.text(max_size=60))
    if data.draw(st.booleans()):  # long enough to be cut within
        middle = data.draw(st.lists(st.sampled_from([*MARKS, "bees", "Hive's", "a", "é"]), min_size=80, max_size=90))
        text = f"{text} {''.join(middle)} two words {text}"
    parts = tokenizer.parts(text)
    assert "".join(parts) == text
    assert sum(map(tokenizer.count, parts)) == tokenizer.count(text)
    assert TokenCache(tokenizer).count_joined(text) == tokenizer.count(text)
    assert TokenCache(tokenizer).count(text) == tokenizer.count(text)


def test_a_passage_is_encoded_once_whatever_stands_around_it() -> None:
    cache = TokenCache(TiktokenTokenizer("cl100k_base"))
    passage = "Bees live in hives, " * 20 + "and a hive has one queen."
    asked: list[str] = []
    known = cache.tokenizer.count_many
    cache.tokenizer.count_many = lambda texts: (asked.extend(texts), known(texts))[1]  # type: ignore[method-assign]
    assert cache.count(passage) == cache.tokenizer.count(passage)
    assert cache.count_joined(f"[1] {passage}\n\n[2] Wasps.") == cache.tokenizer.count(f"[1] {passage}\n\n[2] Wasps.")
    assert sum(map(len, asked)) < len(passage) + 60


@pytest.mark.parametrize("text", ["One.\n\n/two", "One\n\n \ntwo", "One.\n\n\n\ntwo", "One.\n\n\u3000\n\ntwo"])
def test_a_token_across_a_blank_line_is_counted_once(text: str) -> None:
    cache = TokenCache(TiktokenTokenizer("o200k_base"))
    assert cache.count_joined(text) == cache.tokenizer.count(text)


def test_an_encoding_that_is_not_known_counts_texts_as_they_are() -> None:
    known = tiktoken.get_encoding("cl100k_base")
    joining = tiktoken.Encoding(
        "cl100k_base", pat_str="(?s).+", mergeable_ranks=known._mergeable_ranks, special_tokens={}
    )
    assert TiktokenTokenizer(joining).parts("One.\n\nTwo.") == ["One.\n\nTwo."]


def test_encodings_that_part_line_ends_otherwise_at_the_end_count_texts_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranks = {**{bytes([code]): code for code in range(256)}, b"\n\n": 256}
    old = tiktoken.Encoding("r50k_base", pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens={})
    monkeypatch.setattr(tiktoken, "get_encoding", lambda _: old)
    tokenizer = TiktokenTokenizer("r50k_base")
    assert TokenCache(tokenizer).count_joined("a\n\nb") == tokenizer.count("a\n\nb") == 4


def test_special_tokens_in_user_text_are_plain_text() -> None:
    assert TiktokenTokenizer("cl100k_base").count("<|endoftext|>") == 7


@pytest.mark.parametrize(("model", "name"), [("gpt-4", "cl100k_base"), ("gpt-4o", "o200k_base")])
def test_a_model_name_stands_for_its_encoding(model: str, name: str) -> None:
    assert TiktokenTokenizer(model).name == name


def test_an_encoding_object_is_taken_as_it_is() -> None:
    tokenizer = get_tokenizer(tiktoken.get_encoding("o200k_base"))
    assert (tokenizer.name, tokenizer.exact, tokenizer.count("one two")) == ("o200k_base", True, 2)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(TokenizerError, match=r"'gpt-99'.*cl100k_base.*tokenizer\.json.*'estimate'"):
        TiktokenTokenizer("gpt-99")


@pytest.mark.parametrize("blank", [" ", "\t", "\n"])
def test_cutting_long_blanks_changes_no_count(encoding: str, blank: str) -> None:
    # 300,000 in a row are cut, and are still few enough for tiktoken to count in one piece
    text = "before" + blank * 300_001 + "after"
    assert TiktokenTokenizer(encoding).count(text) == len(tiktoken.get_encoding(encoding).encode_ordinary(text))


def test_a_million_blanks_do_not_abort(encoding: str) -> None:
    assert TiktokenTokenizer(encoding).count(" " * 2**20) == 2**20 // 128
    assert TiktokenTokenizer(encoding).count("a" + " \t\u00a0" * 400_000 + "b") > 0


# --- the default and its fallback


def test_auto_is_cl100k_base() -> None:
    tokenizer, messages = resolve_tokenizer()
    assert (tokenizer.name, tokenizer.exact, messages) == ("cl100k_base", True, ())
    assert resolve_tokenizer(None)[0] is tokenizer


def test_explicit_encoding_without_file_or_network_is_an_error(offline: list[str]) -> None:
    with pytest.raises(TokenizerError, match=r"'o200k_base'.*no route to host.*TIKTOKEN_CACHE_DIR.*'estimate'"):
        get_tokenizer("o200k_base")


def test_auto_falls_back_once_and_says_so(offline: list[str]) -> None:
    tokenizer, messages = resolve_tokenizer("auto")
    assert (tokenizer.name, tokenizer.exact) == ("estimate", False)
    assert len(messages) == 1
    assert "estimated" in messages[0]
    assert "no route to host" in messages[0]
    assert resolve_tokenizer("auto")[0] is tokenizer
    assert len(offline) == 1  # the failed download is not tried again


def test_a_missing_network_is_told_in_a_few_words(offline: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str, **_: object) -> None:
        lost = socket.gaierror(-2, "Name or service not known")
        long = f"HTTPSConnectionPool(host='{url}'): Max retries exceeded (Caused by ConnectionError({lost!r}))" * 3
        raise requests.ConnectionError(long) from lost

    monkeypatch.setattr(requests, "get", refuse)
    _, messages = resolve_tokenizer("auto")
    assert "(Name or service not known)" in messages[0]
    assert len(messages[0]) < 250
    assert "HTTPSConnectionPool" not in messages[0]


def test_the_fallback_warns_once_a_process(offline: list[str], recwarn: pytest.WarningsRecorder) -> None:
    for _ in range(3):
        assert get_tokenizer().name == "estimate"
    assert [warning.category for warning in recwarn] == [TokenEstimateWarning]


@pytest.fixture
def hung(offline: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every download hang until the test is over."""
    released = threading.Event()
    monkeypatch.setattr(tokens, "DOWNLOAD_LIMIT_S", 0.05)
    monkeypatch.setattr(requests, "get", lambda url: released.wait())
    yield
    released.set()


@pytest.mark.usefixtures("hung")
def test_a_dead_network_cannot_hang_the_caller() -> None:
    for name in ("cl100k_base", "o200k_base"):  # nor anybody after the first
        with pytest.raises(TokenizerError, match=rf"'{name}'.*no answer within 0\.05 s"):
            TiktokenTokenizer(name)


def test_a_file_that_is_there_is_loaded_however_long_it_takes(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    check = tiktoken.load.check_hash

    def check_late(data: bytes, expected_hash: str) -> bool:
        time.sleep(0.1)
        return check(data, expected_hash)

    monkeypatch.setattr(tokens, "DOWNLOAD_LIMIT_S", 0.01)
    monkeypatch.setattr(tiktoken.load, "check_hash", check_late)
    tokenizer, messages = resolve_tokenizer("auto")
    assert (tokenizer.name, tokenizer.exact, messages) == ("cl100k_base", True, ())


def test_tiktoken_is_left_as_it_was(offline: list[str]) -> None:
    read = tiktoken.load.read_file
    with pytest.raises(TokenizerError):
        TiktokenTokenizer("o200k_base")
    assert tiktoken.load.read_file is read


def test_named_tokenizers_are_made_once_however_many_threads_ask(fresh: None) -> None:
    found: list[Tokenizer] = []
    threads = [threading.Thread(target=lambda: found.append(get_tokenizer("o200k_base"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(tokenizer) for tokenizer in found}) == 1


# --- Hugging Face


@pytest.fixture
def tokenizer_json(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    model = {"type": "WordLevel", "vocab": WORDS, "unk_token": "[UNK]"}
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [3], "tokens": ["[CLS]"]}},
    }
    truncation = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    content = {
        "version": "1.0",
        "truncation": truncation,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": template,
        "model": model,
        "added_tokens": [],
    }
    path.write_text(json.dumps(content))
    return path


def test_tokenizer_json_counts_all_tokens_and_no_special_ones(tokenizer_json: Path) -> None:
    tokenizer = get_tokenizer(str(tokenizer_json))
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    assert tokenizer.exact
    # the file truncates to 3 tokens and puts [CLS] in front
    assert tokenizer.count_many(["a span " * 10, "", "a"]) == [20, 0, 1]
    assert tokenizer.count("lone \ud800") == 2


def test_tokenizer_json_is_named_by_its_content(tokenizer_json: Path, tmp_path: Path) -> None:
    name = HuggingFaceTokenizer(tokenizer_json).name
    copy = tmp_path / "copy.json"
    copy.write_bytes(tokenizer_json.read_bytes())
    assert HuggingFaceTokenizer(copy).name == name
    copy.write_text(tokenizer_json.read_text().replace("span", "chunk"))
    assert HuggingFaceTokenizer(copy).name != name


def test_bad_tokenizer_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"missing\.json.*cannot be read"):
        get_tokenizer(str(tmp_path / "missing.json"))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(TokenizerError, match=r"config\.json.*not a Hugging Face tokenizer\.json"):
        get_tokenizer(str(tmp_path / "config.json"))


# --- the caller's own


def test_a_function_counts() -> None:
    tokenizer = get_tokenizer(lambda text: len(text.split()))
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.count_many(["one two", ""]) == [2, 0]


@pytest.mark.parametrize(
    ("returned", "rule"),
    [(-1, "at least 0"), (2.5, "a whole number"), ([1, 2], "len\\(function\\(text\\)\\)"), (None, "NoneType")],
)
def test_a_function_that_does_not_count_is_refused(returned: object, rule: str) -> None:
    with pytest.raises(TokenizerError, match=rule):
        CallableTokenizer(lambda text: returned, name="mine").count("text")  # type: ignore[arg-type,return-value]


def test_a_function_that_fails_is_named_with_what_it_said() -> None:
    def fails(text: str) -> int:
        raise KeyError(text[:3])

    with pytest.raises(TokenizerError, match=r"'mine' failed for a text of 4 char.*KeyError\('tex'\)"):
        CallableTokenizer(fails, name="mine").count("text")


class OnlyCount:
    def count(self, text: str) -> int:
        return len(text)


class Complete(OnlyCount):
    name = "complete"
    exact = False

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]


def test_an_object_that_counts_is_completed_where_it_must_be() -> None:
    complete = Complete()
    assert get_tokenizer(complete) is complete
    wrapped = get_tokenizer(OnlyCount())  # type: ignore[arg-type]
    assert (wrapped.name, wrapped.exact, wrapped.count_many(["abc"])) == ("OnlyCount", True, [3])


@pytest.mark.parametrize("spec", [7, ["cl100k_base"], object()])
def test_what_cannot_count_is_refused(spec: object) -> None:
    with pytest.raises(TokenizerError, match="cannot count tokens"):
        get_tokenizer(spec)  # type: ignore[arg-type]


# --- the cache


class Recorder(Complete):
    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def count_many(self, texts: Sequence[str]) -> list[int]:
        self.asked.append(list(texts))
        return super().count_many(texts)


def test_the_cache_asks_once_for_each_text_and_in_one_batch() -> None:
    behind = Recorder()
    cache = TokenCache(behind)
    assert cache.count_many(["a", "bb", "a"]) == [1, 2, 1]
    assert cache.count("bb") == 2
    assert cache.count_many([]) == []
    assert behind.asked == [["a", "bb"]]
    assert (cache.name, cache.exact, len(cache)) == ("complete", False, 2)
    assert (cache.knows("a"), cache.knows("ccc")) == (True, False)
    assert isinstance(cache, Tokenizer)


@given(st.lists(st.lists(st.text("ab", max_size=6), max_size=5), max_size=30), st.integers(0, 60))
def test_the_cache_never_changes_a_count_and_keeps_its_bound(batches: list[list[str]], max_chars: int) -> None:
    cache = TokenCache(Complete(), max_chars=max_chars)
    for texts in batches:
        assert cache.count_many(texts) == [len(text) for text in texts]
        assert sum(len(text) + 1 for text in {*cache._counts._young, *cache._counts._old}) <= max_chars


def test_what_is_in_use_stays_in_the_cache() -> None:
    behind = Recorder()
    cache = TokenCache(behind, max_chars=400)
    for number in range(200):
        cache.count_many(["in use", f"passing {number}"])
    assert sum("in use" in asked for asked in behind.asked) == 1
    assert len(cache) < 50


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(TokenizerError, match="max_chars=-1"):
        TokenCache(Complete(), max_chars=-1)


def test_threads_share_the_cache() -> None:
    cache = TokenCache(Complete(), max_chars=2_000)
    texts = [f"{number:x}" * 3 for number in range(500)]
    wrong: list[str] = []

    def work(seed: int) -> None:
        own = texts.copy()
        random.Random(seed).shuffle(own)
        wrong.extend(text for text, count in zip(own, cache.count_many(own), strict=True) if count != len(text))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- the estimate

SAMPLES = {
    "English": "The committee met on Tuesday to discuss the proposal, which several members had criticised as too "
    "expensive. After two hours of debate, nobody had changed their mind; the vote was postponed until the spring.",
    "Chinese": "检索器返回的是从文档中撕下来的片段,而语言模型需要的是完整的段落,按合理的顺序排列,并且不超过令牌预算。"
    "因此,在两者之间需要一个步骤,把相邻的片段合并起来,并注明来源。",
    "traditional Chinese": "檢索器返回的是從文件中撕下來的片段,而語言模型需要的是完整的段落,按合理的順序排列,"
    "並且不超過預算。",
    "Japanese": "検索システムは文書から切り取られた断片を返しますが、言語モデルには、"
    "適切な順序で並べられた完全な文章が必要です。",
    "Korean": "검색기는 문서에서 잘라낸 조각을 돌려주지만 언어 모델에는 적절한 순서로 배열된 온전한 문단이 필요합니다. "
    "그래서 두 단계 사이에 이웃한 조각을 합치는 과정이 있습니다.",
    "Russian": "Поисковая система возвращает отрывки, вырванные из документов, а языковой модели нужны целые абзацы "
    "в разумном порядке и в пределах заданного бюджета.",
    "Arabic": "يعيد نظام البحث مقاطع مقتطعة من الوثائق، بينما يحتاج النموذج اللغوي إلى "
    "فقرات كاملة مرتبة ترتيبا معقولا.",
    "Hindi": "खोज प्रणाली दस्तावेज़ों से टुकड़े लौटाती है, जबकि भाषा मॉडल को सही क्रम में पूरे अनुच्छेद चाहिए।",
    "German": "Die Suche liefert herausgerissene Bruchstücke, das Sprachmodell braucht jedoch vollständige Absätze in "
    "einer sinnvollen Reihenfolge, die das vereinbarte Budget nicht überschreiten.",
    "code": "def merge(runs: list[Window]) -> list[Window]:\n    merged = []\n    for run in sorted(runs):\n"
    "        if merged and run.start <= merged[-1].end:\n            merged[-1] = replace(merged[-1], end=run.end)\n",
    "JSON": json.dumps([{"id": n, "name": f"item-{n}", "price": n * 1.37, "tags": ["new", "sale"]} for n in range(20)]),
    "base64": base64.b64encode(random.Random(3).randbytes(600)).decode(),
    "hexadecimal": random.Random(4).randbytes(300).hex(),
    "identifiers": " ".join(str(uuid.UUID(int=random.Random(n).getrandbits(128))) for n in range(20)),
    "numbers": ", ".join(f"{random.Random(n).uniform(-1e5, 1e5):.3f}" for n in range(60)),
    "emoji": "😀😂🥲🎉🔥👍🏽❤️🚀✨🧑‍💻🇩🇪🌍📄" * 5,
    "signs": "∑∫√≠≤≥→⇒∀∃∈∉⊂⊃∪∩×÷±∞" * 5,
    "rare Chinese characters": "𠮷野家と鷗外、侘寂の饕餮魑魅魍魎耄耋",
    "extensions": "㐀㐁㑇䀀䶵㈱㌔ㄅㄆ𠀀𪛖",
    "styled letters": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝐛𝐨𝐥𝐝 𐎠𐎼𐎹",
    "a regular expression": r"^(?:(?:\+|00)\d{1,3}[-.\s]?)?\(?\d{3}\)?[-.\s]?\d{3}$",
    "another": r"^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$",
    "one with names": r"^(?P<name>[^\s-]+?)-(?P<ver>\d[^\s-]*?)(-(?P<build>\d[^-]*?))?-(?P<abi>.+?)\.whl$",
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_estimate_lies_above_the_truth_but_not_far(encoding: str, kind: str) -> None:
    text = SAMPLES[kind]
    true = max(len(tiktoken.get_encoding(name).encode_ordinary(text)) for name in ENCODINGS)
    assert true <= EstimateTokenizer().count(text) <= 2.2 * true


@pytest.mark.parametrize("length", [1, 2, 5, 20, 100, 10_000, 2**20])
def test_the_estimate_of_blanks_and_rules_is_no_underestimate(encoding: str, length: int) -> None:
    for sign in " \n\t.-=#\x00":
        text = sign * length
        assert EstimateTokenizer().count(text) >= TiktokenTokenizer(encoding).count(text), repr(sign)


@given(st.lists(st.integers(0x4E00, 0x9FFF), min_size=50, max_size=60))
def test_the_estimate_of_chinese_characters_drawn_at_random_is_no_underestimate(codes: list[int]) -> None:
    text = "".join(map(chr, codes))
    true = max(len(tiktoken.get_encoding(name).encode_ordinary(text)) for name in ENCODINGS)
    # a list drawn of common characters alone may cost 2 tokens each, priced by 1.75 as they are cheaper in sentences
    assert EstimateTokenizer().count(text) >= 0.87 * true
    assert EstimateTokenizer().count(text) <= 2.2 * true


@given(st.text(max_size=200))
@example("\ud800")
def test_the_estimate_is_defined_for_every_text(text: str) -> None:
    count = EstimateTokenizer().count(text)
    assert count == EstimateTokenizer().count_many([text])[0]
    assert (count > 0) == bool(text)


@given(st.text("ab c.\n漢é", max_size=50), st.text("ab c.\n漢é", max_size=50))
def test_the_estimate_of_a_longer_text_is_not_smaller_by_more_than_a_join(left: str, right: str) -> None:
    whole = EstimateTokenizer().count(left + right)
    assert whole >= max(EstimateTokenizer().count(left), EstimateTokenizer().count(right)) - 5


@pytest.mark.parametrize(
    ("pattern", "allowed"), [("paul_graham_essays/**/*.txt", 1.35), ("chunking_evaluation/corpora/*.md", 1.5)]
)
def test_the_estimate_on_real_prose(data_dir: Path, pattern: str, allowed: float) -> None:
    texts = [path.read_bytes().decode() for path in sorted(data_dir.glob(pattern))]
    pieces = [text[start : start + 600] for text in texts for start in range(0, len(text) - 600, 600)]
    assert len(pieces) > 300
    truth = [max(counts) for counts in zip(*(TiktokenTokenizer(n).count_many(pieces) for n in ENCODINGS), strict=True)]
    ratios = [count / true for count, true in zip(EstimateTokenizer().count_many(pieces), truth, strict=True)]
    assert min(ratios) >= 1
    assert sum(ratios) / len(ratios) <= allowed


def test_the_cache_folder_of_the_tests_is_used() -> None:
    if "TIKTOKEN_CACHE_DIR" not in os.environ:
        pytest.skip("tokenizer files come from tiktoken's own cache")
    assert Path(os.environ["TIKTOKEN_CACHE_DIR"]).is_dir()


class Own:
    """A tokenizer of the caller's that answers what it is told."""

    name, exact = "own", True

    def __init__(self, answer: Callable[[Sequence[str]], Any]) -> None:
        self.answer = answer

    def count(self, text: str) -> Any:
        return self.answer([text])[0]

    def count_many(self, texts: Sequence[str]) -> Any:
        return self.answer(texts)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda texts: [10**30 for _ in texts], "returned 10{30} .*no text has more than"),
        (lambda texts: [2**63 for _ in texts], "no text has more than"),
        (lambda texts: [-1 for _ in texts], "at least 0"),
        (lambda texts: [1.5 for _ in texts], "a whole number is needed"),
        (lambda texts: [float("nan") for _ in texts], "a whole number is needed"),
        (lambda texts: ["x" for _ in texts], "a whole number is needed"),
        (lambda texts: [3, 3, 3], "returned 3 counts for 2 texts"),
        (lambda texts: None, "NoneType"),
        (lambda texts: [][5], "failed for"),
    ],
)
def test_what_a_tokenizer_of_the_callers_returns_is_checked(answer: Any, problem: str) -> None:
    cache = TokenCache(get_tokenizer(Own(answer)))
    with pytest.raises(TokenizerError, match=problem):
        cache.count_many(["two words", "three more words"])
    chunk = Chunk("Bees sleep at night.", ChunkMetadata("d", 0))
    other = Chunk("Ants do not.", ChunkMetadata("d", 1))
    with pytest.raises(TokenizerError):
        SpanComposer(tokenizer=Own(answer)).compose([SeedHit(chunk, 1.0)], {other.key: other}, query="bees?")


def test_a_function_that_returns_absurd_numbers_is_a_clear_error() -> None:
    with pytest.raises(TokenizerError, match="no text has more than 1,000,000,000,000 tokens"):
        get_tokenizer(lambda _: 10**30).count("Bees.")
