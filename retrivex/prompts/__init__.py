"""Prompts: question, context and history, with room for the answer, inside a model's context window."""

from retrivex.prompts.chat import ChatStyle, Prompt, write_chat
from retrivex.prompts.citations import Place
from retrivex.prompts.fitting import fit_prompt
from retrivex.prompts.pictures import Pictures
from retrivex.prompts.source import Source
from retrivex.prompts.templates import (
    CHINESE_TEMPLATE,
    DEFAULT_TEMPLATE,
    REFINE_TEMPLATE,
    SUMMARY_TEMPLATE,
    fill_template,
)

__all__ = [
    "CHINESE_TEMPLATE",
    "DEFAULT_TEMPLATE",
    "REFINE_TEMPLATE",
    "SUMMARY_TEMPLATE",
    "ChatStyle",
    "Pictures",
    "Place",
    "Prompt",
    "Source",
    "fill_template",
    "fit_prompt",
    "write_chat",
]
