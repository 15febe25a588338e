"""Texts as one line that is safe to show, and what an error says as such a line."""

from __future__ import annotations

from retrivex.text.addresses import without_credentials

# Escape sequences in a document or a file name must not move the cursor or colour the screen of who reads it.
_CONTROLS = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}


def visible(text: str) -> str:
    """Return `text` without characters that would steer a terminal.

    Examples
    --------
    >>> visible("red: \\x1b[31m") == "red: \\ufffd[31m"
    True
    """
    return text.translate(_CONTROLS)


def one_line(text: str) -> str:
    """Return `text` as one line that is safe to show.

    Examples
    --------
    >>> one_line("two\\n  lines")
    'two lines'
    """
    return " ".join(visible(text).split())


def describe_error(error: BaseException, message: str | None = None) -> str:
    """Return what an error says, as one line without credentials; `message` stands for its own words.

    Examples
    --------
    >>> describe_error(ValueError("first\\nsecond")), describe_error(FileNotFoundError(2, "No such file", "a.txt"))
    ('first second', 'a.txt: No such file')
    """
    if isinstance(error, OSError) and error.strerror:
        where = without_credentials(f"{error.filename}") + ": " if error.filename else ""
        said = f"{where}{error.strerror}"
    else:
        said = str(error) if message is None else message
    return one_line(without_credentials(said) or type(error).__name__)
