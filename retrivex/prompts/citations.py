"""Reads the citations of a model's answer: the parts of sources that it refers to, in each API's format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retrivex.errors import RetrivexError, quoted
from retrivex.prompts.source import Source

CITE_START, CITE_STOP, CITE_DELIMITER = "\ue200", "\ue201", "\ue202"
"""The marks that OpenAI's guide to citation formatting recommends (developers.openai.com, "Citation Formatting")."""

_MARKER = re.compile(f"{CITE_START}cite((?:{CITE_DELIMITER}[^{CITE_START}{CITE_STOP}{CITE_DELIMITER}]+)+){CITE_STOP}")
_BLOCK = re.compile(r"block(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a source that an answer cites.

    Parameters
    ----------
    number : of the source, as in `[2]`
    start, end : offsets in the text of its span, end exclusive; the whole of it by default
    """

    number: int
    start: int = 0
    end: int | None = None


def marker(number: int) -> str:
    """Return the citation marker of a source, as OpenAI's models know it."""
    return f"{CITE_START}cite{CITE_DELIMITER}block{number}{CITE_STOP}"


def marked_places(answer: str, sources: Sequence[Source]) -> list[Place]:
    r"""Return what the markers in an answer refer to, in their order, each once.

    Examples
    --------
    >>> sources = [Source(1, "Bees sleep.", "b"), Source(4, "Ants do too.", "a")]
    >>> answer = "They do. \ue200cite\ue202block4\ue202block9\ue201"
    >>> marked_places(answer, sources)
    [Place(number=4, start=0, end=12)]
    """
    known = {source.number: source for source in sources}
    named = (int(number) for fields in _MARKER.findall(answer) for number in _BLOCK.findall(fields))
    return [
        Place(number, known[number].start, known[number].start + len(known[number].text))
        for number in dict.fromkeys(named)
        if number in known
    ]


def cited_places(content: Any, sources: Sequence[Source]) -> list[Place]:
    """Return what the citations in a message of Anthropic's API refer to, in their order, each once.

    Parameters
    ----------
    content : the message, its list of content blocks, a block, or a citation; objects of the SDK or plain dictionaries
    sources : as they were shown, document 0 first

    Raises
    ------
    RetrivexError
        If a citation points outside the sources: they are those of another prompt.
    """
    return list(dict.fromkeys(_place(citation, sources) for citation in _citations(content)))


def _citations(content: Any) -> Iterator[Any]:
    if isinstance(content, (list, tuple)):
        for part in content:
            yield from _citations(part)
    elif _field(content, "type") == "char_location":
        yield content
    else:
        yield from _citations(_field(content, "citations") or _field(content, "content") or ())


def _field(part: Any, name: str) -> Any:
    if isinstance(part, Mapping):
        return part.get(name)
    return None if isinstance(part, str) else getattr(part, name, None)


def _place(citation: Any, sources: Sequence[Source]) -> Place:
    index, start, end = (_field(citation, n) for n in ("document_index", "start_char_index", "end_char_index"))
    if not all(isinstance(number, int) for number in (index, start, end)):
        raise RetrivexError(f"citation {quoted(citation, 200)} lacks an index: pass what the API returned, unchanged")
    if not (0 <= index < len(sources) and 0 <= start <= end <= 2 * len(sources[index].text)):
        raise RetrivexError(
            f"citation of characters {start}-{end} of document {index} points outside the {len(sources)} sources: ask "
            "the prompt that the answer was given to, and put no other documents in front of its own"
        )
    source, cited = sources[index], _field(citation, "cited_text")
    if isinstance(cited, str) and cited and source.text[start:end] != cited and cited in source.text:
        # offsets of an API that counts characters beyond the first 65,536 twice; the words themselves are certain
        start = source.text.index(cited)
        end = start + len(cited)
    return Place(source.number, source.start + start, source.start + end)
