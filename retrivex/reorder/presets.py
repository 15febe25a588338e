"""Named sets of options for common cases."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from retrivex.errors import RetrivexError, quoted

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
    "chat_history": {
        "strategy": "edge_balanced",
        "packing": "edge_aware",
        "validation": "coerce",
        "min_top_k": 4,
    },
    "logs": {"strategy": "chronological", "chronological_order": "desc", "validation": "coerce"},
}


def preset_options(name: PresetName, **changes: Any) -> dict[str, Any]:
    """Return the options of a preset with `changes` on top.

    A `top_k` below the preset's own `min_top_k` lowers that.

    Raises
    ------
    RetrivexError
        If there is no such preset.

    Examples
    --------
    >>> preset_options("standard", top_k=2)
    {'strategy': 'edge_balanced', 'packing': 'edge_aware', 'min_top_k': 2, 'top_k': 2}
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise RetrivexError(f"preset {quoted(name)} does not exist: choose one of {', '.join(PRESETS)}")
    made = {**PRESETS[name], **changes}
    top_k = changes.get("top_k")
    if isinstance(top_k, int) and "min_top_k" not in changes and "min_top_k" in made:
        made["min_top_k"] = max(1, min(made["min_top_k"], top_k))
    return made
