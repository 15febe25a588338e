"""Reads mail (`.eml`): subject, sender, date and the decoded body, with the quoted history apart."""

from __future__ import annotations

import re
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parsedate_to_datetime

from retrivex.errors import LoadError
from retrivex.loading.html import read_html
from retrivex.loading.markdown import make_loaded
from retrivex.loading.report import Loaded
from retrivex.loading.text import decode, notes_of

QUOTED = "Quoted"
"""Heading of the messages that a mail answers to or passes on."""

_SHOWN = ("From", "To", "Cc", "Date")
# a line of a plain text that Markdown would take for a heading, a rule or a fence
_STRUCTURE = re.compile(r"^( {0,3})(?=#{1,6}(?:\s|$)|[-=_*](?:[ \t]*[-=_*])*[ \t]*$|`{3}|~{3})", re.MULTILINE)
_QUOTE = re.compile(r"^ {0,3}>", re.MULTILINE)
# what Outlook and others put above a message that is passed on or answered to
_FROM = r"(?:From|Von|De|Da|Van|Od|Från|Fra|差出人|发件人)"
_NEXT = r"(?:Sent|Gesendet|Envoyé|Enviado|Inviato|Verzonden|Date|Datum|To|An|À|Para)"
_DIVIDER = re.compile(
    r"^[ \t]*(?:(?:\\?_{5,}[ \t]*\n+)?"
    rf"\*{{0,2}}{_FROM}\s?:\*{{0,2}} [^\n]+\n+\*{{0,2}}{_NEXT}\s?:\*{{0,2}} "
    r"|\\?-{4,} ?\w[^\n]{2,60}?-{4,}[ \t]*$)",
    re.MULTILINE,
)
_INTRODUCTION = re.compile(
    r"(?:On|Am|Le|El|Il|Op|Em|W dniu|Den|Dne|Pe|В|\d).{3,300}:"
    r"|.{1,200}(?:wrote|writes|schrieb|écrit|escribió|scritto|schreef|escreveu|skrev|написал\w*|写道)\s?[:：]",
    re.IGNORECASE,
)
_INTRODUCTION_LINES = 3
_QUOTE_END = re.compile(r"^ {0,3}>[^\n]*\n(?!\s*(?:>|\n|$))", re.MULTILINE)
_BLANKS = re.compile(r"\n{3,}")
_SIGNATURE = re.compile(r"^\\?-- ?$", re.MULTILINE)


def load_mail(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read a mail as Markdown; offsets count in that Markdown.

    The subject is the heading, followed by sender, recipients and date, and the body. Quotations at the beginning and
    at the end of the body go under a heading of their own; those between the lines of an answer stay where they are. A
    body in HTML is read where there is no plain one. Attachments are left out, with a note that names them.

    Raises
    ------
    LoadError
        If it has no header lines of a mail, no text, or its body is not text.

    Examples
    --------
    >>> loaded = load_mail(b"From: Ann <ann@example.org>\nSubject: Bees\n\nThey sleep.\n\n> Do they?\n", "bees.eml")
    >>> print(loaded.document.text)
    # Bees
    <BLANKLINE>
    From: Ann <ann@example.org>
    <BLANKLINE>
    They sleep.
    <BLANKLINE>
    ## Quoted
    <BLANKLINE>
    > Do they?
    <BLANKLINE>
    """
    mail = message_from_bytes(raw, policy=default)
    heads = {name: head for name in ("Subject", *_SHOWN) if (head := _head(mail, name))}
    if not heads:
        raise LoadError("it is no mail: it begins with no lines like `From:`, `Date:` or `Subject:`; leave it out")
    body, notes = _body(mail)
    attachments = [part.get_filename() or part.get_content_type() for part in mail.iter_attachments()]
    if attachments:
        notes = (*notes, f"attachments left out: {', '.join(' '.join(name.split()) for name in attachments)}")
    own, quoted = _part(body)
    subject = heads.get("Subject")
    blocks = [
        f"# {subject}" if subject else "",
        # two blanks at the end keep the lines apart in Markdown
        "  \n".join(f"{name}: {heads[name]}" for name in _SHOWN if name in heads),
        own,
        f"## {QUOTED}\n\n{quoted}" if quoted else "",
    ]
    if not (subject or body):
        raise LoadError("it is empty: the mail has neither a subject nor a text")
    text = "\n\n".join(filter(None, blocks)) + "\n"
    metadata = {name.lower(): head for name, head in heads.items() if name != "Subject"}
    return make_loaded(
        doc_id, text, source, title=subject, timestamp=_timestamp(heads.get("Date")), metadata=metadata, notes=notes
    )


def _head(mail: EmailMessage, name: str) -> str:
    try:
        value = str(mail.get(name, ""))
    except Exception:  # noqa: BLE001 - the parser of addresses raises nearly anything for broken ones
        value = str(dict(mail.raw_items()).get(name, ""))
    return _storable(" ".join(value.split()))


def _timestamp(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except (ValueError, OverflowError):
        return None


def _body(mail: EmailMessage) -> tuple[str, tuple[str, ...]]:
    """Return the text as Markdown, and notes about how it was decoded."""
    for kind in ("plain", "html"):
        part = mail.get_body((kind,))
        payload = part.get_payload(decode=True) if part is not None else None
        if part is None or not isinstance(payload, bytes) or not payload.strip():
            continue
        decoded = decode(payload, part.get_content_charset())
        text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
        text, left_out = read_html(text) if kind == "html" else (_STRUCTURE.sub(r"\1\\", text), ())
        if text.strip():
            return _storable(text.strip("\n").rstrip()), (*notes_of(decoded), *left_out)
    return "", ()


def _storable(text: str) -> str:
    # broken header lines come with half surrogate pairs, which UTF-8 has not
    return text.encode("utf-8", "replace").decode("utf-8")


def _part(body: str) -> tuple[str, str]:
    """Part a body into its own text and the quoted history."""
    divider = _DIVIDER.search(body)
    body, behind = (body[: divider.start()], body[divider.start() :]) if divider else (body, "")
    # without a blank line, Markdown takes the answer below a quotation for a part of it
    lines = _QUOTE_END.sub(r"\g<0>\n", body).split("\n")
    quoted = {at for at, line in enumerate(lines) if _QUOTE.match(line)}
    quoted |= {at for block in quoted if block - 1 not in quoted for at in _introduction(lines, block)}
    signature = next((at for at, line in enumerate(lines) if _SIGNATURE.match(line)), len(lines))
    own = [at for at, line in enumerate(lines) if line.strip() and at not in quoted and at < signature]
    # what stands above an answer stays: it is not understood without the words it answers to
    history = {at for at in quoted if not own or at > own[-1]}
    parts = ("\n".join(line for at, line in enumerate(lines) if (at in history) == old) for old in (False, True))
    kept, old = (_BLANKS.sub("\n\n", part).strip("\n").rstrip() for part in parts)
    return kept, "\n\n".join(filter(None, [old, behind.strip()]))


def _introduction(lines: list[str], at: int) -> range:
    """Return the lines above a quotation that say whose words it is: `On Monday, Ann wrote:`."""
    end = at
    while end > 0 and not lines[end - 1].strip():
        end -= 1
    start = end
    while start > 0 and lines[start - 1].strip() and end - start < _INTRODUCTION_LINES:
        start -= 1
        if _INTRODUCTION.fullmatch(" ".join(lines[start:end])):
            return range(start, end)
    return range(0)
