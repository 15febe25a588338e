"""Public question sets in their official layouts, and one's own; nothing odd in them is dropped in silence.

Offsets count characters, so files are read without newline translation. Records that had to be repaired or left out are
listed in `EvidenceSet.odd`, with their places. `benchmarks.suites.datasets.hub` reads the same sets over the network.
"""

from benchmarks.suites.datasets.contextual_embeddings import contextual_embeddings
from benchmarks.suites.datasets.families import FAMILIES, LISTINGS, READERS, Family, available, load_set, load_sets
from benchmarks.suites.datasets.hotpotqa import hotpotqa, hotpotqa_records
from benchmarks.suites.datasets.loogle import loogle, loogle_records
from benchmarks.suites.datasets.passages import chunking_evaluation, evidence_inference
from benchmarks.suites.datasets.qmsum import qmsum
from benchmarks.suites.datasets.squad import covid_qa, covid_qa_articles, squad, squad_articles
from benchmarks.suites.longbench.reader import longbench, longbench_records
from benchmarks.suites.lost_in_the_middle.reader import key_value, lost_in_the_middle
from benchmarks.suites.ruler.reader import ruler, ruler_records

__all__ = [
    "FAMILIES",
    "LISTINGS",
    "READERS",
    "Family",
    "available",
    "chunking_evaluation",
    "contextual_embeddings",
    "covid_qa",
    "covid_qa_articles",
    "evidence_inference",
    "hotpotqa",
    "hotpotqa_records",
    "key_value",
    "load_set",
    "load_sets",
    "longbench",
    "longbench_records",
    "loogle",
    "loogle_records",
    "lost_in_the_middle",
    "qmsum",
    "ruler",
    "ruler_records",
    "squad",
    "squad_articles",
]
