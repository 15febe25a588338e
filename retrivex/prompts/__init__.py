"""Prompts: question, context and history, with room for the answer, inside a model's context window."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from retrivex.prompts.templates import CHINESE_TEMPLATE, DEFAULT_TEMPLATE, fill_template

if TYPE_CHECKING:
    from retrivex.prompts.chat import ChatStyle, Prompt, write_chat
    from retrivex.prompts.citations import Place
    from retrivex.prompts.fitting import fit_prompt
    from retrivex.prompts.source import Source

__all__ = [
    "CHINESE_TEMPLATE",
    "DEFAULT_TEMPLATE",
    "ChatStyle",
    "Place",
    "Prompt",
    "Source",
    "fill_template",
    "fit_prompt",
    "write_chat",
]

_ON_FIRST_USE = {
    "ChatStyle": "retrivex.prompts.chat",
    "Place": "retrivex.prompts.citations",
    "Prompt": "retrivex.prompts.chat",
    "Source": "retrivex.prompts.source",
    "fit_prompt": "retrivex.prompts.fitting",
    "write_chat": "retrivex.prompts.chat",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_ON_FIRST_USE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
