"""Groups the rows of a suite: by orders, by depths, and beside what the hits themselves hold."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from retrivex.evaluation.metrics.evidence import COMPLETE
from retrivex.evaluation.report.grouping import HITS, family_of, grouped, held_share, values_of
from retrivex.evaluation.run.results import Row, Way

OF_HITS = f"*{HITS}* count a question where they hold all of its evidence, before a composer chooses among them"
_PLACES = ("depth", "depths")
_ROUNDED = 2e-4  # by how much a sum of three figures of four decimal places may be off


def with_several_orders(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the composers that were run with more than one order."""
    several = {name for name, of in grouped(rows, _composer).items() if len(values_of(of, "order")) > 1}
    return [row for row in rows if row.way.composer in several]


def _composer(row: Row) -> str:
    return row.way.composer


def with_hits(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, those of each family and kind of hits after what these hits hold, whatever a composer shows.

    What they hold stands in a row for each question, as if of a composer `HITS`; its one measure is `complete`.
    """
    kinds = grouped(rows, lambda row: (family_of(row), row.way.retriever, row.way.hits))
    return [row for found in kinds.values() for row in (*_measure_hits(found), *found)]


def _measure_hits(rows: Iterable[Row]) -> list[Row]:
    """Return for each question whether the hits hold all of its evidence; one without evidence is left out.

    All is what `complete` calls so, 99 %, but of all passages of evidence together: rows do not tell them apart.
    """
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        asked = (row.set_name, row.question_id)
        if asked not in found and (share := held_share(row)) is not None:
            way = Way(row.way.retriever, row.way.hits, HITS, "", 0)
            found[asked] = replace(row, way=way, measures={"complete": float(share >= COMPLETE - _ROUNDED)})
    return list(found.values())


def by_depth(rows: Iterable[Row], measure: str) -> Mapping[float, list[float]]:
    """Return a measure under each depth, for the same questions at each: those that were asked at every depth.

    Questions are the same where all factors but the depth are, and those of several needles, which move together.
    """
    blocks: dict[Hashable, dict[float, list[float]]] = {}
    for row in rows:
        depth = row.factors.get("depth")
        if isinstance(depth, (int, float)) and measure in row.measures:
            others = tuple(sorted((name, str(value)) for name, value in row.factors.items() if name not in _PLACES))
            block = blocks.setdefault((row.set_name, row.way, others), {})
            block.setdefault(float(depth), []).append(row.measures[measure])
    depths = sorted({depth for block in blocks.values() for depth in block})
    whole = [block for block in blocks.values() if len(block) == len(depths)]
    return {depth: [fmean(block[depth]) for block in whole] for depth in depths} if whole else {}
