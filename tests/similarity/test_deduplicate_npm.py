"""Duplicates and measures as rag-chunk-reorder 0.1.7 from npm finds them, on random passages.

Where it differs on purpose: its trigrams count UTF-16 units, ours characters; passages without a source are of one
source there and of none here; its normalisation of answers puts a space in place of punctuation, ours is that of SQuAD;
its key points may stand inside other words, ours are whole words; nothing to measure gives 0 there and an error here.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from retrivex import deduplicate
from retrivex.evaluation.metrics import (
    answerability_match,
    citation_coverage,
    exact_match,
    faithfulness,
    key_point_precision,
    key_point_recall,
    ndcg,
    position_effectiveness,
    recall_at_k,
    token_f1,
)
from retrivex.similarity.mmr import diversify

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("RETRIVEX_NODE_FOLDER", ROOT / ".venv" / "node"))
KEEPS = {"highest_score": "highestScore", "first": "first", "last": "last"}
WORDS = [
    "hive", "queen", "worker", "drone", "egg", "larva", "wax", "comb", "honey", "pollen", "nectar", "swarm", "winter",
    "cluster", "brood",
]  # fmt: skip
CASES = 300


@pytest.fixture(scope="module", autouse=True)
def _there() -> None:
    if shutil.which("node") is None or not (FOLDER / "node_modules" / "rag-chunk-reorder").is_dir():
        pytest.skip("make integration-node installs node and the package")


def drawn(seed: int) -> dict[str, Any]:
    """Passages of which many are alike, and settings for all that is compared."""
    draws = random.Random(seed)
    texts = [" ".join(draws.choices(WORDS, k=draws.randint(0, 20))) for _ in range(draws.randint(1, 4))]
    passages = []
    for at in range(draws.randint(1, 14)):
        words = draws.choice(texts).split(" ")
        for _ in range(draws.randint(0, 2)):
            words[draws.randrange(len(words))] = draws.choice(WORDS)
        score = round(draws.random(), draws.choice((1, 9)))
        passages.append({"id": str(at), "text": " ".join(words), "score": score})
        passages[-1]["metadata"] = {"sourceId": draws.choice("xyz")}
    return {
        "passages": passages,
        "threshold": draws.choice((0.0, 0.3, 0.6, 0.8, 0.85, 0.95, 1.0, draws.random())),
        "keep": draws.choice(list(KEEPS)),
        "weight": draws.choice((0.0, 0.3, 0.7, 1.0)),
        "penalty": draws.choice((0.0, 0.15)),
        "points": draws.sample(WORDS, 3),
        "relevant": [str(draws.randrange(16)) for _ in range(2)],
        "k": draws.randint(1, 8),
        "answer": " ".join(draws.choices([*WORDS, "the", "a", "of"], k=draws.randint(0, 6))),
        "references": [" ".join(draws.choices([*WORDS, "the"], k=draws.randint(1, 5))) for _ in range(2)],
    }


@cache
def answers() -> list[dict[str, Any]]:
    """What the package makes of all cases, in one process of node."""
    asked = [{**case, "keep": KEEPS[case["keep"]]} for case in map(drawn, range(CASES))]
    done = subprocess.run(
        ["node", str(Path(__file__).with_name("dedup_npm.cjs")), str(FOLDER)],
        input=json.dumps(asked), capture_output=True, encoding="utf-8", check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made: list[dict[str, Any]] = json.loads(done.stdout)
    return made


def ids(passages: list[dict[str, Any]]) -> list[str]:
    return [passage["id"] for passage in passages]


@pytest.mark.parametrize("seed", range(CASES))
def test_the_same_as_the_package(seed: int) -> None:
    case, theirs = drawn(seed), answers()[seed]
    passages, keep = case["passages"], case["keep"]
    texts = [passage["text"] for passage in passages]
    scores = [passage["score"] for passage in passages]
    assert ids(deduplicate(passages, case["threshold"], keep)) == theirs["kept"]
    assert ids(
        diversify(passages, relevance_weight=case["weight"], source_penalty=case["penalty"], source="sourceId")
    ) == theirs["diverse"]  # fmt: skip
    ours = {
        "recall": key_point_recall(case["points"], texts),
        "precision": key_point_precision(case["points"], texts),
        "ndcg": ndcg(scores),
        "positions": position_effectiveness(scores),
        "recallAtK": recall_at_k(ids(passages), case["relevant"], case["k"]),
        "exactMatch": exact_match(case["answer"], case["references"]),
        "f1": token_f1(case["answer"], case["references"]),
        "answerability": answerability_match(case["answer"], case["references"]),
        "citation": citation_coverage(case["answer"], texts),
        "faithfulness": faithfulness(case["answer"], texts),
    }
    assert ours == pytest.approx(theirs["measures"])
