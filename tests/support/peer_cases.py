"""Random passages and options that RetriVex and rag-chunk-reorder 0.1.7 both have, and their names in the package."""

from __future__ import annotations

import random
from typing import Any

WORDS = [
    "bee", "hive", "queen", "drone", "honey", "comb", "wax", "nectar",
    "pollen", "swarm", "brood", "smoke", "frame", "winter", "spring", "larva",
]  # fmt: skip

# ---- names there
STRATEGIES = {
    "edge_balanced": "scoreSpread",
    "document": "preserveOrder",
    "chronological": "chronological",
    "custom": "custom",
    "auto": "auto",
}
METADATA = {
    "source_id": "sourceId",
    "section_index": "sectionIndex",
    "source_reliability": "sourceReliability",
    "token_count": "tokenCount",
    "new_score": "newScore",
}
OPTIONS = {
    "start_count": "startCount",
    "end_count": "endCount",
    "group_by": "groupBy",
    "min_score": "minScore",
    "max_tokens": "maxTokens",
    "max_chars": "maxChars",
    "score_clamp": "scoreClamp",
    "min_top_k": "minTopK",
    "top_k": "topK",
    "deduplicate_threshold": "deduplicateThreshold",
    "softmax_temperature": "scoreNormalizationTemperature",
    "chronological_order": "chronologicalOrder",
    "source_field": "preserveOrderSourceField",
    "max_input": "maxInputChunks",
    "window_size": "streamingWindowSize",
    "include_priority_score": "includePriorityScore",
    "tokenizer": "tokenCounter",
    "count_chars": "charCounter",
    "compare": "customComparator",
    "validation": "validationMode",
}
WORDS_THERE = {
    "score_normalization": ("scoreNormalization", {"min_max": "minMax", "z_score": "zScore"}),
    "packing": ("packing", {"edge_aware": "edgeAware"}),
    "deduplicate_keep": ("deduplicateKeep", {"highest_score": "highestScore"}),
    "max_input_behavior": ("maxInputChunksBehavior", {"raise": "throw"}),
    "strategy": ("strategy", STRATEGIES),
}
FIELD_OPTIONS = ("group_by", "source_field")


def count_words(text: str) -> int:
    return len(text.split())


def count_vowels(text: str) -> int:
    return sum(letter in "aeiou" for letter in text)


def by_weight(a: dict[str, Any], b: dict[str, Any]) -> float:
    return _weight(a) - _weight(b)


def _weight(passage: dict[str, Any]) -> float:
    metadata = passage.get("metadata")
    return metadata.get("weight", 0) if isinstance(metadata, dict) else 0


def rescored(query: str, texts: Any) -> list[float]:
    """A reranker that has to be told the new scores; set by the test."""
    raise NotImplementedError


FUNCTIONS = {count_words: "words", count_vowels: "vowels", by_weight: "byWeight", rescored: "reranker"}


def chunk_there(passage: dict[str, Any]) -> dict[str, Any]:
    """The passage under the package's names."""
    made = {METADATA.get(name, name): value for name, value in passage.items()}
    if isinstance(passage.get("metadata"), dict):
        made["metadata"] = {METADATA.get(name, name): value for name, value in passage["metadata"].items()}
    return made


def config_there(options: dict[str, Any]) -> dict[str, Any]:
    """The options under the package's names."""
    made: dict[str, Any] = {}
    for name, value in options.items():
        if name == "weights":
            made["weights"] = {METADATA.get(key, key): weight for key, weight in value.items()}
        elif name == "diversity":
            names = {"relevance_weight": "lambda", "source_penalty": "sourceDiversityWeight",
                     "max_candidates": "maxCandidates", "source_field": "sourceField"}  # fmt: skip
            made["diversity"] = {"enabled": True} | {names[key]: METADATA.get(v, v) if isinstance(v, str) else v
                                                     for key, v in value.items()}  # fmt: skip
        elif name == "auto":
            names = {"timestamp_coverage": "temporalTimestampCoverageThreshold",
                     "source_coverage": "narrativeSourceCoverageThreshold",
                     "section_coverage": "narrativeSectionCoverageThreshold",
                     "temporal_cues": "temporalQueryTerms", "narrative_cues": "narrativeQueryTerms"}  # fmt: skip
            made["autoStrategy"] = {names[key]: v for key, v in value.items() if key in names}
        elif name in WORDS_THERE:
            there, words = WORDS_THERE[name]
            made[there] = words.get(value, value)
        elif callable(value):
            made[OPTIONS.get(name, name)] = FUNCTIONS[value]
        else:
            made[OPTIONS.get(name, name)] = METADATA.get(value, value) if name in FIELD_OPTIONS else value
    return made


# ---- random cases


def passages(draw: random.Random, count: int) -> list[dict[str, Any]]:
    """Passages with equal scores and times, duplicates, and metadata that some of them lack."""
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 30))) for _ in range(count)]
    made = []
    for place in range(count):
        text = draw.choice(texts) if draw.random() < 0.2 else texts[place]
        if draw.random() < 0.2:
            text = draw.choice(texts) + draw.choice([".", " or", " bees"])
        metadata = {name: value for name, value in _metadata(draw).items() if draw.random() < 0.7}
        passage = {"id": f"p{place}", "text": text, "score": draw.choice([draw.random(), round(draw.random(), 1), 0.5])}
        if draw.random() < 0.3:
            passage["token_count"] = draw.randint(0, 30)
        if metadata or draw.random() < 0.5:
            passage["metadata"] = {"new_score": round(draw.random(), 2), **metadata}
        made.append(passage)
    return made


def _metadata(draw: random.Random) -> dict[str, Any]:
    return {
        "source_id": draw.choice(["a", "b", "c", "7", 7, 7.5, True, ""]),
        "section_index": draw.choice([draw.randint(0, 6), draw.random()]),
        "timestamp": draw.choice([draw.randint(0, 5), 1_700_000_000 + draw.randint(0, 10**6)]),
        "source_reliability": draw.random(),
        "topic": draw.choice(["x", "y", "__default__", 3]),
        "weight": draw.randint(0, 4),
        "token_count": draw.randint(0, 20),
    }


def spoil(draw: random.Random, given: list[dict[str, Any]]) -> None:
    """Put values of wrong types into passages, but for ids and texts."""
    for passage in given:
        for name in ("score", "token_count", "metadata"):
            if draw.random() < 0.1:
                passage[name] = draw.choice(["bad", [1], True, {"a": 1} if name != "metadata" else 3])
        metadata = passage.get("metadata")
        for name in ("timestamp", "section_index", "source_id", "source_reliability", "token_count"):
            if isinstance(metadata, dict) and draw.random() < 0.15:
                metadata[name] = [1] if name == "source_id" else draw.choice(["bad", [1], {"a": 1}, False])


def options(draw: random.Random) -> dict[str, Any]:
    """Some options, each with values that change something."""
    made: dict[str, Any] = {"strategy": draw.choice([*STRATEGIES, "edge_balanced"])}
    choices: dict[str, Any] = {
        "score_clamp": lambda: sorted([round(draw.random(), 1), round(draw.random(), 1)]),
        "min_score": lambda: draw.choice([0.2, 0.5, 0.7]),
        "weights": lambda: {
            name: draw.choice([0, 0.3, 1, 2.5])
            for name in ("similarity", "time", "section", "source_reliability")
            if draw.random() < 0.7
        },
        "score_normalization": lambda: draw.choice(["none", "min_max", "z_score", "softmax"]),
        "softmax_temperature": lambda: draw.choice([0.1, 1, 5]),
        "chronological_order": lambda: draw.choice(["asc", "desc"]),
        "source_field": lambda: draw.choice(["source_id", "topic"]),
        "group_by": lambda: draw.choice(["source_id", "topic", "weight", "nothing"]),
        "packing": lambda: draw.choice(["auto", "prefix", "edge_aware"]),
        "top_k": lambda: draw.randint(3, 12),
        "min_top_k": lambda: draw.randint(1, 3),
    }
    made |= {name: value() for name, value in choices.items() if draw.random() < 0.25}
    if draw.random() < 0.3:
        made["start_count"], made["end_count"] = draw.randint(0, 4), draw.randint(0, 4)
    if draw.random() < 0.35:
        made |= {"max_tokens": draw.choice([0, 10, 60, 25.5, 200]), "tokenizer": count_words}
    if draw.random() < 0.25:
        made |= {"max_chars": draw.choice([0, 100, 600])}
        made |= {"count_chars": count_vowels} if draw.random() < 0.5 else {}
    if draw.random() < 0.35:
        made |= {"deduplicate": True, "deduplicate_keep": draw.choice(["highest_score", "first", "last"])}
        made |= {"deduplicate_threshold": draw.choice([1, 0.95, 0.8, 0.5, 0])} if draw.random() < 0.7 else {}
    if draw.random() < 0.1:
        made |= {"max_input": draw.randint(1, 30), "max_input_behavior": draw.choice(["raise", "truncate"])}
    if draw.random() < 0.25:
        made["diversity"] = _diversity(draw)
        if "max_candidates" in made["diversity"]:
            # there, passages beyond max_candidates come first where their priority is above 1
            made = {name: value for name, value in made.items() if name not in ("weights", "score_normalization")}
    if made["strategy"] == "custom":
        made["compare"] = by_weight
    if made["strategy"] == "auto" and draw.random() < 0.5:
        made["auto"] = {name: draw.choice([0, 0.3, 0.6, 0.9]) for name in
                        ("timestamp_coverage", "source_coverage", "section_coverage")}  # fmt: skip
    return made


def _diversity(draw: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {
        "relevance_weight": draw.choice([0, 0.2, 0.7, 0.9, 1]),
        "source_penalty": draw.choice([0, 0.15]),
    }
    if draw.random() < 0.3:
        made["source_field"] = "topic"
    if draw.random() < 0.3:
        made["max_candidates"] = draw.randint(2, 12)
    return made


QUERIES = [
    None,
    "Who is the queen of the hive?",
    "When did the swarm leave?",
    "What is the latest on the brood?",
    "Summarize the story of the hive",
    "Give an overview of the steps",
]
"""Questions of a type on which both sets of cues agree."""
