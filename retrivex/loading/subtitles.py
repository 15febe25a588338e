"""Reads subtitles (SRT, WebVTT): the spoken text as sentences, and when each part of it is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import takewhile, zip_longest

from retrivex.errors import LoadError
from retrivex.loading.report import Loaded
from retrivex.loading.text import decode, encoding_metadata, notes_of
from retrivex.model.cues import CUE_TIMES
from retrivex.model.document import Document

PAUSE_S = 2.0
"""Seconds of silence after which a new paragraph begins, where a sentence ended before."""

_STAMP = r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]?\d)[.,](\d{1,3})"
_TIMING = re.compile(rf"^[ \t]*{_STAMP}[ \t]*-->[ \t]*{_STAMP}(?:[ \t][^\n]*)?$", re.MULTILINE)
_SPEAKER = re.compile(r"<v(?:\.[^ >]*)?[ \t]+([^>]+)>")
# tags of both formats, times within a cue (karaoke), and marks of SubStation for the place on the screen
_TAG = re.compile(r"</?[a-z][^>\n]*>|<[\d:.]+>|\{\\[^}\n]*\}", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")


@dataclass(frozen=True, slots=True)
class Cue:
    """What is shown at once.

    Parameters
    ----------
    start, end : seconds from the beginning of the recording
    lines : the text, without markup
    """

    start: float
    end: float
    lines: tuple[str, ...]


def load_subtitles(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read an SRT or WebVTT file as running text.

    Cues join to sentences and paragraphs. `metadata["cue_times"]` has `[offset, start, end]` of each cue, of which
    chunkers make `start_time` and `end_time` of each chunk, in seconds. A line that the next cue shows again, as
    captions that roll up the screen do, stands once.

    Raises
    ------
    LoadError
        If it has no cue with a text, is not text, or in an unknown encoding.

    Examples
    --------
    >>> talk = b"1\n00:00:01,000 --> 00:00:02,500\nBees sleep\n\n2\n00:00:02,500 --> 00:00:04,000\nat <i>night</i>.\n"
    >>> document = load_subtitles(talk, "talk.srt").document
    >>> document.text, document.metadata
    ('Bees sleep at night.\n', {'cue_times': [[0, 1.0, 2.5], [11, 2.5, 4.0]]})
    """
    decoded = decode(raw)
    pieces: list[str] = []
    times: list[list[float]] = []
    length, end = 0, 0.0
    shown: tuple[str, ...] = ()
    for cue in _cues(decoded.text):
        words = " ".join(line for line in cue.lines if line not in shown)
        shown = cue.lines
        if not words:
            if times:
                times[-1][2] = max(times[-1][2], cue.end)
            continue
        if pieces:
            pauses = cue.start - end > PAUSE_S and _SENTENCE_END.search(pieces[-1])
            pieces.append("\n\n" if pauses else " ")
            length += len(pieces[-1])
        times.append([length, cue.start, cue.end])
        pieces.append(words)
        length, end = length + len(words), cue.end
    if not pieces:
        raise LoadError("it has no cue with a text under a line like `00:00:01,000 --> 00:00:02,500`; leave it out")
    metadata = {**encoding_metadata(decoded), CUE_TIMES: times}
    return Loaded(Document(doc_id, "".join(pieces) + "\n", source=source, metadata=metadata), notes_of(decoded))


def _cues(text: str) -> Iterator[Cue]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    timings = list(_TIMING.finditer(text))
    for timing, after in zip_longest(timings, timings[1:]):
        lines = text[timing.end() : after.start() if after else None].split("\n")[1:]
        if after and lines[-2:-1] and lines[-2].strip().isdigit():
            del lines[-2:]  # the next cue's number, where no blank line stands above it
        # a cue ends at a blank line; what follows is the next one's name, a note or a style
        shown = tuple(filter(None, map(_plain, takewhile(str.strip, lines))))
        yield Cue(_seconds(*timing.groups()[:4]), _seconds(*timing.groups()[4:]), shown)


def _plain(line: str) -> str:
    return " ".join(unescape(_TAG.sub("", _SPEAKER.sub(r"\1: ", line))).split())


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000
