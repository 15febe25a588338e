"""Small evaluation data in the official layouts, out of which haystacks are made."""

from __future__ import annotations

import json
import random
from pathlib import Path

_TEXT = "time people work idea good write thing make find company software money user often never begin think start"
_WORDS = _TEXT.split()


def sentences(count: int, seed: int) -> list[str]:
    """Sentences of common words, none like another's beginning or end for long."""
    rng = random.Random(f"sentences/{seed}")
    return [f"{' '.join(rng.choices(_WORDS, k=rng.randint(4, 14)))}.".capitalize() for _ in range(count)]


def write_data(folder: Path) -> Path:
    """Write essays, SQuAD and HotpotQA, each too small for lengths of more than a few thousand tokens."""
    for number, name in enumerate(("art", "boats", "cats", "dough")):
        path = folder / "paul_graham_essays" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes("\r\n".join(sentences(90, number)).encode())
    articles = [
        {"title": f"Article {number}", "paragraphs": [_paragraph(number, part) for part in range(6)]}
        for number in range(4)
    ]
    _write(folder / "squad" / "dev-v2.0.json", {"version": "v2.0", "data": articles})
    _write(folder / "hotpotqa" / "dev.json", [_two_hops(number) for number in range(9)])
    return folder


def _paragraph(number: int, part: int) -> dict[str, object]:
    before = " ".join(sentences(6, 100 + 10 * number + part))
    place = f"Place {number}{part}"
    context = f"{before} The market is in {place}. It opens at dawn."
    asked = {
        "id": f"{number}/{part}",
        "question": f"Where is market {number}{part}?",
        "is_impossible": False,
        "answers": [{"text": place, "answer_start": context.index(place)}, {"text": "market", "answer_start": 0}],
    }
    impossible = {"id": f"{number}/{part}/no", "question": "Why?", "is_impossible": True, "answers": []}
    return {"context": context, "qas": [asked, impossible]}


def _two_hops(number: int) -> dict[str, object]:
    context = [
        [
            f"Title {number}.{part}",
            [sentences(1, 50 * number + part)[0], f" Fact {number}.{part} stands here.", " End."],
        ]
        for part in range(10)
    ]
    facts = [[f"Title {number}.3", 1], [f"Title {number}.7", 1]]
    return {
        "_id": str(number),
        "question": f"What joins {number}?",
        "answer": "here",
        "supporting_facts": facts,
        "context": context,
    }


def _write(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")
