"""Composes with the code of a given folder, and says how long it took; a process of `against.py`.

Reads lines from standard input: the name of a case, answered by milliseconds of processor time for each question, or
`same`, answered by a digest of all contexts. Uses only names that earlier versions have, too.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HITS, QUESTIONS, DOCUMENTS, CHUNKS = 50, 5, 60, 100
SYLLABLES = ("ba", "ko", "ri", "tel", "mun", "sa", "vo", "ne", "lir", "qua", "dor", "fi")


def make_chunks(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Make documents of chunks of some 200 tokens, as keyword arguments."""
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(2000)]
    for document in range(DOCUMENTS):
        at = 0
        for number in range(CHUNKS):
            text = "".join(" ".join(rng.choices(words, k=15)).capitalize() + ". " for _ in range(8))
            yield {"doc_id": f"doc-{document}", "chunk_id": number, "start": at, "text": text}
            at += len(text)


def make_questions(texts: Mapping[tuple[str, int], str], rng: random.Random) -> list[tuple[str, list[tuple[str, int]]]]:
    """Make questions of words of one chunk, and hits around it and elsewhere."""
    keys = list(texts)
    made = []
    for _ in range(QUESTIONS):
        document, number = rng.choice(keys)
        near = [(document, number + step) for step in range(-6, 7, 2) if (document, number + step) in texts]
        others = [key for key in rng.sample(keys, 2 * HITS) if key not in near]
        made.append((" ".join(rng.sample(texts[document, number].split(), 8)), (near + others)[:HITS]))
    return made


def main() -> None:
    """Answer until standard input ends."""
    code, folder = sys.argv[1], Path(sys.argv[2])
    sys.path.insert(0, code)
    from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer  # noqa: PLC0415 - of the given folder
    from retrivex.model.document import Document  # noqa: PLC0415
    from retrivex.stores import SQLiteStore  # noqa: PLC0415

    rng = random.Random(7)
    records = list(make_chunks(rng))
    store = {
        (record["doc_id"], record["chunk_id"]): Chunk(
            record["text"],
            ChunkMetadata(
                record["doc_id"],
                record["chunk_id"],
                record["start"],
                record["start"] + len(record["text"]),
                chunk_count=CHUNKS,
            ),
        )
        for record in records
    }
    questions = make_questions({key: chunk.text for key, chunk in store.items()}, rng)
    database = SQLiteStore(folder / "chunks.db")
    for document in range(DOCUMENTS):
        name = f"doc-{document}"
        chunks = [store[name, number] for number in range(CHUNKS)]
        database.put(Document(name, "".join(chunk.text for chunk in chunks)), chunks)
    calls = [
        (question, [SeedHit(store[key], 1.0 / (rank + 1)) for rank, key in enumerate(hits)])
        for question, hits in questions
    ]
    composer = SpanComposer()
    for line in sys.stdin:
        case = line.strip()
        if case == "same":
            texts = "\0".join(composer.compose(hits, store, query=question).text for question, hits in calls)
            answer: Any = hashlib.sha256(texts.encode()).hexdigest()
        else:
            chunks_of: Any = database if "SQLite" in case else store
            count = next((int(word) for word in case.split() if word.isdigit()), HITS)
            began = time.process_time()
            for question, hits in calls:
                made = composer if case.startswith("warm") else SpanComposer()
                made.compose(hits[:count], chunks_of, query=question)
            answer = (time.process_time() - began) * 1e3 / len(calls)
        print(json.dumps(answer), flush=True)
    database.close()


if __name__ == "__main__":
    main()
