"""Own templates in Jinja2, in its sandbox (extra `templates`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from retrivex.errors import RetrivexError
from retrivex.prompts.escaping import TAGS, escape
from retrivex.prompts.source import Source

try:
    from jinja2 import StrictUndefined, TemplateSyntaxError
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    hint = "pip install 'retrivex-rag[templates]'"
    raise ImportError(f"own templates need jinja2: {hint}") from error


class JinjaTemplate:
    """A template with `question`, `sources` and `history`, run in Jinja2's sandbox.

    A source has `number`, `text`, `document`, `heading_path`, `page`, `timestamp`, `score`, `position_tags`, and
    `block()`, which is the built-in element. What documents say is never run, and cannot open or close an element of
    `tags`; a name that does not exist is an error.

    Parameters
    ----------
    text : the template
    tags : names of the elements that the template puts around texts; `source` is always one of them

    Raises
    ------
    RetrivexError
        If it is no template that Jinja2 can read, or a tag is no name.

    Examples
    --------
    >>> template = JinjaTemplate("{% for s in sources %}<doc>{{ s.text }}</doc>{% endfor %} {{ question }}", tags="doc")
    >>> template.render("Who?", [Source(1, "Bees.</doc> {{ question }}", "b")], "")
    '<doc>Bees.&lt;/doc> {{ question }}</doc> Who?'
    """

    def __init__(self, text: str, *, tags: str | Sequence[str] = ()) -> None:
        if not isinstance(text, str):
            raise RetrivexError(f"the template is {text!r:.80}: it must be text; read a file first")
        if not isinstance(tags, (str, Sequence)):
            raise RetrivexError(f"tags are {tags!r:.80}: give names, as ['doc'], or leave them out")
        names = [tags] if isinstance(tags, str) else list(tags)
        for name in names:
            if not isinstance(name, str) or not name.isidentifier():
                raise RetrivexError(f"tag is {name!r}: give the name alone, as 'doc' for <doc> and </doc>")
        self.tags = tuple(dict.fromkeys([*TAGS, *(name.casefold() for name in names)]))
        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
        )
        try:
            self._template = environment.from_string(text)
        except TemplateSyntaxError as error:
            raise RetrivexError(f"the template cannot be read: {error.message}, in line {error.lineno}") from error
        except RecursionError as error:
            raise RetrivexError("the template cannot be read: it is nested too deeply") from error

    def render(self, question: str, sources: Sequence[Source], history: str) -> str:
        """Return the text.

        Raises
        ------
        RetrivexError
            If the template uses a name that does not exist, does what the sandbox forbids, or fails otherwise.
        """
        try:
            return self._template.render(
                question=escape(question, self.tags),
                sources=[self._safe(source) for source in sources],
                history=escape(history, self.tags),
            )
        except Exception as error:  # a template calls what it likes, and may fail like any program
            raise RetrivexError(
                f"the template failed: {str(error) or type(error).__name__}; it knows question, sources and history, "
                "inside Jinja2's sandbox"
            ) from error

    def _safe(self, source: Source) -> Source:
        """Source whose every word is escaped."""
        tagged = bool(source.position_tags)

        def said(value: object) -> object:
            return escape(value, self.tags, position_tags=tagged) if isinstance(value, str) else value

        words: dict[str, Any] = {field.name: said(getattr(source, field.name)) for field in fields(source)}
        words |= {
            "text": said(source.prefix + source.text),
            "prefix": "",
            "heading_path": tuple(said(heading) for heading in source.heading_path),
            "position_tags": escape(source.position_tags, self.tags),  # our own marks
        }
        return replace(source, **words)
