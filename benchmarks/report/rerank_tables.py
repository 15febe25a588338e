"""The tables of what reranking is worth, from their committed results."""

from __future__ import annotations

from typing import Any

from benchmarks.report.committed import result
from benchmarks.report.evidence_tables import table


def rerank() -> str:
    """Return evidence in the context without and with a reranker."""
    rows: list[dict[str, Any]] = result("rerank")["rows"]
    return table(
        ["set", "", "evidence, %", "reranked", "points", "complete, %", "reranked"],
        [
            [
                row["set"].replace("_", " "),
                row["system"],
                *(f"{100 * value:.1f}" for value in row["recall"]),
                "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(100 * value for value in row["change"])),
                *(f"{100 * value:.1f}" for value in row["complete"]),
            ]
            for row in rows
        ],
    )


def rerank_bare() -> str:
    """Return nDCG@10 of bare texts, by BM25 and by the calibrated model, and what the model has over each BM25."""
    return _bare("calibrated")


def rerank_embedded() -> str:
    """Return the same where an encoder gives the texts embeddings, with the plain cosine beside it."""
    return _bare("calibrated with embeddings")


def _bare(ours: str) -> str:
    rows: list[dict[str, Any]] = result("rerank_bare")["rows"]
    others = list(rows[0]["gain of"][ours])
    systems = [*others, ours]
    return table(
        ["set", "questions", *systems, *(f"points over {name}" for name in others)],
        [
            [
                row["set"].replace("_", " "),
                f"{row['questions']:,}",
                *(f"{100 * row['ndcg'][name]:.1f}" for name in systems),
                *(
                    "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(100 * value for value in row["gain of"][ours][name]))
                    for name in others
                ),
            ]
            for row in rows
        ],
    )


TABLES = {"rerank": rerank, "rerank_bare": rerank_bare, "rerank_embedded": rerank_embedded}
