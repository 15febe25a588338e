"""A plan for so many chunks and questions, from what was measured: machines, memory, traffic.

python -m benchmarks.report.scale_plan --chunks 1e9 --questions 1000 --shards 64
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report.evidence_tables import table
from benchmarks.speed.scale import on_a_line
from benchmarks.speed.scale_queue import machines_needed
from benchmarks.speed.scale_shards import expected_asked, expected_fullest

RESULTS = Path(__file__).parents[1] / "results"
CORES, USE = 2, 0.7
TENANT_CHUNKS = 1_000
LARGEST = 1e15
"""Of what a plan is made for; far more than there are texts."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a machine costs, and who says so."""

    machine: str
    usd_per_hour: float
    source: str
    date: str


PRICE = Price(
    "m7g.large (2 cores, on demand, us-east-1)",
    0.0816,
    "https://www.factualminds.com/blog/amazon-ec2-on-demand-pricing-instance-families-2026/",
    "17 June 2026",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What `chunks` in `shards` and `questions` a second need.

    Parameters
    ----------
    composing_machines : of `CORES` cores that are busy for at most a share `USE` of the time
    composing_mb : memory of a composing machine, a process for each core
    text_gb, vectors_gb : files of all shards; the fullest one has `fullest` times the mean
    asked : shards that a question asks for its neighbours, documents kept whole
    neighbours_cores : busy with neighbours, in all shards
    requests_per_shard : neighbours' requests a second that the mean shard gets
    traffic_mb : texts a second, from shards to composing machines
    words_cores, vectors_cores : busy with searching everything, by two frequent and four rare words, or exactly by
        vectors
    tenant_cores : busy with searching by words in files of a tenant's own
    ingest_hours : of one core's time
    """

    composing_machines: int
    composing_mb: float
    text_gb: float
    vectors_gb: float
    fullest: float
    asked: float
    neighbours_cores: float
    requests_per_shard: float
    traffic_mb: float
    words_cores: float
    vectors_cores: float
    tenant_cores: float
    ingest_hours: float


def make_plan(scale: Mapping[str, Any], process_mb: float, chunks: float, questions: float, shards: int) -> Plan:
    """Return a plan.

    Parameters
    ----------
    scale : `results/scale.json`
    process_mb : memory of a process of the service
    chunks : in all
    questions : a second
    shards : that documents are placed in by a hash of their names

    Raises
    ------
    ValueError
        If one of the numbers is not positive, or none that can be counted with.
    """
    for name, number in (("chunks", chunks), ("questions", questions), ("shards", shards)):
        if not 0 < number <= LARGEST:  # NaN is neither
            raise ValueError(f"{name} is {str(number)[:20]}: it must be above 0 and at most {LARGEST:g}")
    growth, sets = scale["growth"], scale["shards"]["placed"]["sets"]
    largest = growth["1000000"]
    asked = expected_asked(shards, sets["documents_of_hits"])
    back = scale["shards"]["placed"]["requests"][0]["document"]["bytes_back"]

    def search_cores(name: str) -> float:
        pair = growth["100000"]["ms"][name], largest["ms"][name]
        return questions * shards * on_a_line((100_000, 1_000_000), pair, chunks / shards) / 1e3

    return Plan(
        composing_machines=machines_needed(questions, CORES, scale["queue"]["context"]["service_mean_ms"] / 1e3, USE),
        composing_mb=CORES * process_mb,
        text_gb=chunks * largest["text_bytes"] / 1e9,
        vectors_gb=chunks * largest["vector_bytes"] / 1e9,
        fullest=expected_fullest(shards, max(1, round(chunks / sets["size_mean"])), sets["size_cv"]),
        asked=asked,
        neighbours_cores=questions * asked * _request_ms(scale["shards"], chunks) / 1e3,
        requests_per_shard=questions * asked / shards,
        traffic_mb=questions * back / 1e6,
        words_cores=search_cores("words_frequent"),
        vectors_cores=search_cores("vectors_exact"),
        tenant_cores=questions * growth["tenant_alone_ms"] / 1e3,
        ingest_hours=chunks * largest["ingest_cpu_us"] / 3.6e9,
    )


def _request_ms(shards: Mapping[str, Any], chunks: float) -> float:
    """Return what a request for neighbours costs a shard: more by as much for ten times the chunks."""
    before, last = shards["files-1000000"], shards["files-10000000"]
    places = math.log10(before["chunks"]), math.log10(last["chunks"])
    pair = before["document"]["cpu_p50_ms"], last["document"]["cpu_p50_ms"]
    return on_a_line(places, pair, math.log10(chunks)) / float(last["document"]["requests"])


def plan_table(plan: Plan, shards: int) -> str:
    """Return the plan as a table."""
    text, vectors = plan.text_gb / shards, plan.vectors_gb / shards
    rows = [
        ["composing", f"{plan.composing_machines:,} machines of {CORES} cores, {plan.composing_mb:,.0f} MB each"],
        ["text and its index", f"{plan.text_gb / 1e3:,.2f} TB; {text:,.1f} GB a shard"],
        ["the fullest shard", f"{plan.fullest:.2f} times the mean: {text * plan.fullest:,.1f} GB"],
        ["shards that a question asks for neighbours", f"{plan.asked:.1f} of {shards}"],
        ["requests for neighbours, a shard", f"{plan.requests_per_shard:,.0f} a second"],
        ["neighbours, all shards together", f"{plan.neighbours_cores:,.2f} cores busy"],
        ["texts to the composing machines", f"{plan.traffic_mb:,.0f} MB a second"],
        ["ingest", f"{plan.ingest_hours:,.0f} hours of one core, {plan.ingest_hours / shards:,.1f} a shard"],
        [
            f"search by words, a tenant of {TENANT_CHUNKS:,} chunks each question",
            f"{plan.tenant_cores:,.2f} cores busy",
        ],
        ["search by words, two of them frequent, in everything", f"{plan.words_cores:,.0f} cores busy: not this way"],
        ["exact search by vectors in everything", f"{plan.vectors_cores:,.0f} cores busy: not this way"],
        ["vectors, where they are kept", f"{plan.vectors_gb / 1e3:,.2f} TB; {vectors:,.1f} GB a shard"],
    ]
    return table(["what", "on paper"], rows)


def read_plan(chunks: float, questions: float, shards: int) -> Plan:
    """Return a plan from the committed results."""
    scale, service = (
        json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")) for name in ("scale", "service")
    )
    return make_plan(scale, service["steady"]["memory"]["end_mb"], chunks, questions, shards)


def main() -> None:
    """Print a plan."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=float, default=1e9)
    parser.add_argument("--questions", type=float, default=1e3, help="a second")
    parser.add_argument("--shards", type=int, default=64)
    given = parser.parse_args()
    try:
        plan = read_plan(given.chunks, given.questions, given.shards)
    except ValueError as error:
        parser.error(str(error))
    print(plan_table(plan, given.shards))


if __name__ == "__main__":
    main()
