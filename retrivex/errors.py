"""What can go wrong, by name; every message gives the value, the rule and the way out, and no credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST_SAID = 4_000
"""Characters of a message: it may quote what a file or a request says, which may be megabytes."""

_MOST_READ = 32_000
"""Characters at either end of a message in which credentials are looked for; what is between them is not shown."""

_MORE_READ = 4_000
"""Characters behind what is shown of a value that are read with it: half a secret could not be found."""


def shortened(text: str) -> str:
    """Return a message without secrets, and where it is longer than `MOST_SAID`, its beginning and its end.

    Examples
    --------
    >>> shortened("format is " + "f" * 5_000 + ": it must be 'text'")[-69:]
    "ffffffffffffffffffffffffffffffffffffffffffffffffff: it must be 'text'"
    """
    if len(text) <= MOST_SAID:
        return _without_credentials(text, has_names=True)
    left_out = max(len(text) - 2 * _MOST_READ, 0)
    if left_out:  # both ends in one piece: an address that reaches into both is one still
        text = text[:_MOST_READ] + text[-_MOST_READ:]
    text = _without_credentials(text)
    if len(text) <= MOST_SAID:
        return text
    half = MOST_SAID // 2 - 50
    return f"{text[:half]} ... [{len(text) - 2 * half + left_out:,} characters] ... {text[-half:]}"


def _without_credentials(words: str, *, has_names: bool = False) -> str:
    from retrivex.text.addresses import without_credentials  # noqa: PLC0415 - not needed until something fails

    return without_credentials(words, has_names=has_names)


class RetrivexError(ValueError):
    """Base of every error RetriVex raises itself; its message has no credentials and at most `MOST_SAID` characters."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(shortened(arg) if isinstance(arg, str) else arg for arg in args))


class ConfigError(RetrivexError):
    """An option does not exist or breaks its rule, or options do not go together."""


class ChunkError(RetrivexError):
    """A chunk or its metadata breaks a rule (empty text, negative id, reversed offsets)."""


class HitError(RetrivexError):
    """A seed hit cannot be used; raised per hit only with `strict=True`, listed in `dropped` otherwise."""


class PassageError(RetrivexError):
    """A flat passage cannot be read (no text, a score that is no finite number), or JSON of passages."""


class StoreError(RetrivexError):
    """A chunk store cannot be opened, read or written."""


class StoreTimeoutError(StoreError):
    """A chunk store did not answer within `store_timeout_s`."""


class TokenizerError(RetrivexError):
    """A tokenizer was asked for by name and cannot be had."""


class EncoderError(RetrivexError):
    """An embedding model cannot be loaded, or gave vectors of the wrong shape."""


class RerankError(RetrivexError):
    """A reranker cannot be loaded, was too late, or gave something that cannot be used as scores."""


class RerankUnavailableError(RerankError):
    """A reranker's endpoint could not be reached, failed itself, or wants to be asked later; asking again may help.

    Parameters
    ----------
    message : what happened
    retry_after_s : seconds that the endpoint asks to wait; None where it does not say
    """

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EndpointError(RetrivexError):
    """A model's endpoint refused, could not be reached, or was asked with settings out of their range."""


class LoadError(RetrivexError):
    """A file cannot be read as the document it claims to be."""


class BudgetError(RetrivexError):
    """A prompt cannot fit its token limit even without any context."""


class BatchError(RetrivexError):
    """A table is not of the schema of batches, an output folder belongs to another job, or a job cannot go on."""


class OrderingError(RetrivexError):
    """Passages cannot be ordered as asked: a score that is no finite number, or a setting out of its range."""


def quoted(value: Any, most: int = 80) -> str:
    """Return what a message says of a value: the beginning of its `repr`, or what it is where it has none.

    It has no credentials.

    Examples
    --------
    >>> quoted("hive"), quoted(10**5000)
    ("'hive'", 'a whole number of 16610 bits')
    """
    try:
        return _without_credentials(repr(value)[: most + _MORE_READ])[:most]
    except ValueError:  # Python writes no whole number of more than some 4,300 digits
        if isinstance(value, int):
            return f"a whole number of {value.bit_length()} bits"
        return f"{type(value).__name__} too long to be shown"
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything, and must not hide what was wrong
        return f"{type(value).__name__} that cannot be shown"


def install_hint(extra: str) -> str:
    """Return how to install an extra: from a checkout, and as released.

    Examples
    --------
    >>> install_hint("pdf")
    "pip install '.[pdf]' in a checkout, or pip install 'retrivex-rag[pdf]' where it is released"
    """
    return f"pip install '.[{extra}]' in a checkout, or pip install 'retrivex-rag[{extra}]' where it is released"


def describe_cause(error: BaseException, most: int = 120, *, hide: Callable[[str], str] = _without_credentials) -> str:
    """Return why foreign code failed, in a few words: the network error behind it, or the beginning of what it says.

    HTTP clients wrap "no such host" in several errors, each of which quotes the one before.

    Parameters
    ----------
    error : what foreign code raised
    most : characters that are shown of it
    hide : takes secrets out of all that it says, before it is cut

    Examples
    --------
    >>> wrapped = RuntimeError("Max retries exceeded (Caused by ...)" * 9)
    >>> wrapped.__cause__ = ConnectionRefusedError(111, "Connection refused")
    >>> describe_cause(wrapped), describe_cause(KeyError("name"))
    ('Connection refused', "KeyError: 'name'")
    """
    from socket import gaierror  # noqa: PLC0415 - not needed until something fails

    behind: BaseException | None = error
    seen: set[int] = set()  # clients that raise one error again and again make rings of them
    while behind is not None and id(behind) not in seen:
        seen.add(id(behind))
        if isinstance(behind, ConnectionError | TimeoutError | gaierror) and behind.strerror:
            return hide(behind.strerror)
        behind = behind.__cause__ or behind.__context__
    said = " ".join(hide(f"{type(error).__name__}: {error}").split())
    return said if len(said) <= most else f"{said[:most]}..."
