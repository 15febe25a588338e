"""Public question sets in their official layouts, and one's own; nothing odd in them is dropped in silence.

Offsets count characters, so files are read without newline translation. Records that had to be repaired or left out are
listed in `EvidenceSet.odd`, with their places. `retrivex.evaluation.datasets.hub` reads the same sets over the network.
"""

from retrivex.evaluation.datasets.contextual_embeddings import contextual_embeddings
from retrivex.evaluation.datasets.families import FAMILIES, LISTINGS, READERS, Family, available, load_set, load_sets
from retrivex.evaluation.datasets.hotpotqa import hotpotqa, hotpotqa_records
from retrivex.evaluation.datasets.longbench import longbench, longbench_records
from retrivex.evaluation.datasets.loogle import loogle, loogle_records
from retrivex.evaluation.datasets.lost_in_the_middle import key_value, lost_in_the_middle
from retrivex.evaluation.datasets.own import own
from retrivex.evaluation.datasets.passages import chunking_evaluation, evidence_inference
from retrivex.evaluation.datasets.qmsum import qmsum
from retrivex.evaluation.datasets.ruler import ruler, ruler_records
from retrivex.evaluation.datasets.squad import covid_qa, covid_qa_articles, squad, squad_articles

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
    "own",
    "qmsum",
    "ruler",
    "ruler_records",
    "squad",
    "squad_articles",
]
