"""Named sets of options for common cases."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

PresetName: TypeAlias = Literal[
    "standard", "narrative", "temporal", "diverse", "auto", "docs_qa", "chat_history", "logs"
]

PRESETS: dict[str, dict[str, Any]] = {
    "standard": {"strategy": "edge_balanced", "packing": "edge_aware", "min_top_k": 4},
    "narrative": {"strategy": "document"},
    "temporal": {"strategy": "chronological", "chronological_order": "asc"},
    "diverse": {"strategy": "edge_balanced", "diversity": {"relevance_weight": 0.7, "source_penalty": 0.2}},
    "auto": {"strategy": "auto"},
    "docs_qa": {
        "strategy": "auto",
        "deduplicate": True,
        "deduplicate_threshold": 0.95,
        "packing": "edge_aware",
        "validation": "coerce",
        "min_top_k": 4,
    },
    "chat_history": {"strategy": "edge_balanced", "packing": "edge_aware", "validation": "coerce", "min_top_k": 4},
    "logs": {"strategy": "chronological", "chronological_order": "desc", "validation": "coerce"},
}
