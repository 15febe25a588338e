"""Tokenizers: what counts the tokens of a text for the token budget."""

from __future__ import annotations

import importlib
import itertools
import operator
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import tiktoken
import tiktoken.load

from retrivex.errors import TokenizerError, describe_cause, quoted
from retrivex.tokens.estimate import EstimateTokenizer

T = TypeVar("T")
R = TypeVar("R")

DEFAULT_ENCODING = "cl100k_base"
"""What `"auto"` counts with, where its file can be had."""

MAX_COUNT = 10**12
"""Most tokens that a text can have: counts of a million texts can then still be added up in 64 bits."""

DOWNLOAD_LIMIT_S = 10.0
"""Seconds that tiktoken gets to download a file: it has no time-out of its own. A file that is there has no limit."""

# tiktoken's pre-tokenizer aborts with a panic on some 700,000 white-space characters in a row. Longer runs than this
# are cut; 128 divides the periods of spaces, tabs and newlines (128, 16, 32), so that a cut does not change the count.
_LONGEST_BLANK = 128 * 1024
_LONG_BLANK = re.compile(rf"\s{{{_LONGEST_BLANK}}}(?=\s)")


_PARTING_PARAGRAPHS = frozenset(("cl100k_base", "o200k_base", "o200k_harmony"))
_BLANK_LINE = "\n\n"
_BETWEEN_LETTERS = re.compile(r"(?<=[A-Za-z]) (?=[A-Za-z])")
_LONG_PARAGRAPH = 200  # characters; shorter ones are counted as fast as they are cut

FILE_SUFFIX = ".json"
"""How the name of a tokenizer ends that is the path of a tokenizer.json."""


class TokenEstimateWarning(UserWarning):
    """Token counts are estimates, because the default tokenizer could not be loaded."""


@runtime_checkable
class Tokenizer(Protocol):
    """Counts tokens; all the core needs to know of a model's vocabulary."""

    @property
    def name(self) -> str:
        """What it counts: `cl100k_base`, `estimate`, ...; counts are comparable where the names are equal."""

    @property
    def exact(self) -> bool:
        """Whether counts are the model's own; False for estimates."""

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""


TokenizerSpec: TypeAlias = "str | Tokenizer | tiktoken.Encoding | Callable[[str], int] | None"
"""What counts tokens: a name, an object with `count`, an encoding of tiktoken, a function, or None for the default."""


class TiktokenTokenizer:
    """Counts with tiktoken; text that looks like a special token (`<|endoftext|>`) counts as plain text.

    Parameters
    ----------
    encoding : name of an encoding (`cl100k_base`) or of a model (`gpt-4o`), or a `tiktoken.Encoding`

    Raises
    ------
    TokenizerError
        If no encoding or model has that name, or its file is neither in tiktoken's cache nor to be downloaded
        within `DOWNLOAD_LIMIT_S` seconds.

    Notes
    -----
    Runs of more than 131,072 white-space characters are counted in slices, as tiktoken aborts on them: exact for one
    repeated character, and within a token per slice for mixed ones.

    Examples
    --------
    >>> TiktokenTokenizer("cl100k_base").count("A span is a passage.")
    6
    """

    exact = True

    def __init__(self, encoding: str | tiktoken.Encoding) -> None:
        self._encoding = load_encoding(encoding) if isinstance(encoding, str) else encoding
        self.name = self._encoding.name
        self._parts_paragraphs = isinstance(encoding, str) and self.name in _PARTING_PARAGRAPHS

    def __repr__(self) -> str:
        return f"TiktokenTokenizer({self.name!r})"

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        if len(text) > _LONGEST_BLANK:
            return sum(map(self._count_whole, _cut_long_blanks(text)))
        return self._count_whole(text)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [self.count(text) for text in texts]

    def parts(self, text: str) -> list[str]:
        r"""Cut a text where no token goes on: the counts of the parts add up to that of the text.

        In the newer encodings of tiktoken, a token begins behind line ends where neither white space follows nor, as
        `o200k_base` takes it to marks and line ends before it, a slash; and at the space between two letters. So long
        paragraphs are cut behind their first word and before their last one: what is between is the same part whatever
        number or line end stands around it. The older encodings part line ends otherwise at the end of a text. Of
        those, and of an encoding that is given as an object, the text is one part.

        Examples
        --------
        >>> TiktokenTokenizer("cl100k_base").parts("One.\n\nTwo.\n\n/three")
        ['One.\n\n', 'Two.\n\n/three']
        """
        if not self._parts_paragraphs:
            return [text]
        made: list[str] = []
        begun = 0
        lines = text.split(_BLANK_LINE)
        for at, line in enumerate(lines[1:], start=1):
            if line and line[0] != "/" and not line[0].isspace():
                made += _without_ends(_BLANK_LINE.join([*lines[begun:at], ""]))
                begun = at
        return [*made, *_without_ends(_BLANK_LINE.join(lines[begun:]))]

    def _count_whole(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))


def _without_ends(text: str) -> tuple[str, ...]:
    """Cut a long text at the first and the last space between two letters."""
    if len(text) < _LONG_PARAGRAPH or (first := _BETWEEN_LETTERS.search(text)) is None:
        return (text,)
    start = first.start()
    end = text.rfind(" ", start)
    while not _BETWEEN_LETTERS.match(text, end):
        end = text.rfind(" ", start, end)
    return (text[:start], text[start:end], text[end:]) if end > start else (text[:start], text[start:])


class CallableTokenizer:
    """Counts with a function of the caller's.

    Parameters
    ----------
    function : takes a text, returns its number of tokens
    name : what it counts; give one of your own where counts are stored, as two functions can bear one name

    Examples
    --------
    >>> CallableTokenizer(lambda text: len(text.split()), name="words").count("two words")
    2
    """

    def __init__(self, function: Callable[[str], int], name: str | None = None, *, exact: bool = True) -> None:
        self._function = function
        self.name = name or f"callable:{getattr(function, '__qualname__', type(function).__name__)}"
        self.exact = exact

    def __repr__(self) -> str:
        return f"CallableTokenizer({self.name!r})"

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`.

        Raises
        ------
        TokenizerError
            If the function raises, or returns anything but a whole number of at least 0.
        """
        return _check_count(self.name, _ask(self.name, self._function, text), len(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [self.count(text) for text in texts]


class CheckedTokenizer:
    """A tokenizer of the caller's, whose counts are looked at before anything is computed with them.

    Parameters
    ----------
    tokenizer : any object with `name`, `exact`, `count` and `count_many`

    Raises
    ------
    TokenizerError
        From `count` and `count_many`, if it raises, or returns anything but one whole number, of 0 to `MAX_COUNT`, a
        text.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.name = str(tokenizer.name)
        self.exact = bool(tokenizer.exact)

    def __repr__(self) -> str:
        return repr(self._tokenizer)

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return _check_count(self.name, _ask(self.name, self._tokenizer.count, text), len(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        counts = _ask(self.name, lambda some: list(self._tokenizer.count_many(some)), texts)
        if len(counts) != len(texts):
            raise TokenizerError(
                f"tokenizer {self.name!r} returned {len(counts)} counts for {len(texts)} texts: one for each is needed"
            )
        return [_check_count(self.name, count, len(text)) for count, text in zip(counts, texts, strict=True)]


def checked(tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer whose counts are checked: of the caller's own a `CheckedTokenizer`."""
    is_own = type(tokenizer).__module__.startswith("retrivex.")
    return tokenizer if is_own else CheckedTokenizer(tokenizer)


def _ask(name: str, function: Callable[[T], R], given: T) -> R:
    try:
        return function(given)
    except TokenizerError:
        raise
    except Exception as error:  # a function of the caller's may raise anything
        kind = f"a text of {len(given)} characters" if isinstance(given, str) else "some texts"
        raise TokenizerError(
            f"tokenizer {name!r} failed for {kind}: {quoted(error, 200)}; it must return a whole number for every text"
        ) from error


def _check_count(name: str, returned: object, characters: int) -> int:
    try:
        count = operator.index(cast("int", returned))
    except TypeError as error:
        raise TokenizerError(
            f"tokenizer {name!r} returned a {type(returned).__name__} for a text of {characters} characters: "
            "a whole number is needed; for a function that returns tokens pass `lambda text: len(function(text))`"
        ) from error
    if not 0 <= count <= MAX_COUNT:
        raise TokenizerError(
            f"tokenizer {name!r} returned {quoted(count)} for a text of {characters} characters: a token count must be "
            f"at least 0, and no text has more than {MAX_COUNT:,} tokens"
        )
    return count


def get_tokenizer(spec: TokenizerSpec = "auto") -> Tokenizer:
    """Return the tokenizer that `spec` names; warns once a process where `"auto"` has to estimate.

    See `resolve_tokenizer`, which returns the warning instead.

    Examples
    --------
    >>> get_tokenizer("estimate").exact
    False
    """
    tokenizer, messages = resolve_tokenizer(spec)
    for message in messages:
        _warn_once(message)
    return tokenizer


def resolve_tokenizer(spec: TokenizerSpec = "auto") -> tuple[Tokenizer, tuple[str, ...]]:
    """Return the tokenizer that `spec` names and the warnings its user should see.

    Parameters
    ----------
    spec :
        - `"auto"` or None: `cl100k_base`, or, where its file cannot be had, the estimate with a warning;
        - `"estimate"`: the estimate;
        - name of an encoding or a model known to tiktoken;
        - path of a Hugging Face `tokenizer.json` (extra `tokenizers`);
        - a tokenizer: any object with `count(text)`; a `tiktoken.Encoding`; a function from text to number.

    Raises
    ------
    TokenizerError
        If a tokenizer asked for by name cannot be had: only `"auto"` ever falls back.

    Examples
    --------
    >>> tokenizer, messages = resolve_tokenizer(len)
    >>> tokenizer.count("four"), messages
    (4, ())
    """
    if spec is None:
        spec = "auto"
    if not isinstance(spec, str):
        return _adopt(spec), ()
    if spec in _named:
        return _named[spec]
    with _named_lock:
        if spec not in _named:
            _named[spec] = _load_auto() if spec == "auto" else (_load_named(spec), ())
        return _named[spec]


def load_encoding(name: str) -> tiktoken.Encoding:
    """Return tiktoken's encoding of that name or of the model of that name; only a download has a time limit."""
    encoding = _encoding_name(name)
    try:
        with _limited_downloads():
            return tiktoken.get_encoding(encoding)
    except (OSError, ValueError, ImportError) as error:
        raise TokenizerError(
            f"tokenizer {name!r}: tiktoken's file is not in its cache and cannot be downloaded "
            f"({describe_cause(error)}). Set TIKTOKEN_CACHE_DIR to a folder that holds it, or accept "
            "tokenizer='estimate'"
        ) from error


def without_surrogates(text: str) -> str:
    r"""Return `text` with lone surrogates replaced, which have no UTF-8 form and which tokenizers refuse.

    Examples
    --------
    >>> without_surrogates("half \ud83d") == "half \ufffd"
    True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_named: dict[str, tuple[Tokenizer, tuple[str, ...]]] = {}
_named_lock = threading.Lock()
_download_lock = threading.Lock()
_warned = threading.Event()


@contextmanager
def _limited_downloads() -> Iterator[None]:
    """Let tiktoken read files as it does, but give up on a download after `DOWNLOAD_LIMIT_S` seconds."""
    with _download_lock:
        read = tiktoken.load.read_file

        def read_in_time(blobpath: str) -> bytes:
            return _download(read, blobpath) if "://" in blobpath else read(blobpath)

        tiktoken.load.read_file = read_in_time
        try:
            yield
        finally:
            tiktoken.load.read_file = read


def _download(read: Callable[[str], bytes], address: str) -> bytes:
    content: Future[bytes] = Future()
    # A daemon thread of our own: a pool's threads are waited for at exit, and this one may hang.
    threading.Thread(target=_fulfil, args=(content, read, address), daemon=True).start()
    if not wait([content], DOWNLOAD_LIMIT_S).done:
        raise TimeoutError(f"no answer within {DOWNLOAD_LIMIT_S:g} s")
    return content.result()


def _fulfil(content: Future[bytes], read: Callable[[str], bytes], address: str) -> None:
    try:
        content.set_result(read(address))
    except Exception as error:  # noqa: BLE001 - it is raised again in the thread that waits
        content.set_exception(error)


def _encoding_name(name: str) -> str:
    if name in tiktoken.list_encoding_names():
        return name
    try:
        return tiktoken.encoding_name_for_model(name)
    except KeyError as error:
        known = ", ".join(sorted(tiktoken.list_encoding_names()))
        raise TokenizerError(
            f"tokenizer {name!r}: tiktoken knows no encoding or model of that name. Use one of {known}, a model name "
            "like 'gpt-4o', the path of a tokenizer.json, 'estimate', or a function from text to number"
        ) from error


def _load_named(spec: str) -> Tokenizer:
    if spec == "estimate":
        return EstimateTokenizer()
    if spec.endswith(FILE_SUFFIX):
        # `tokenizers` is an extra, so that its module is imported only when it is asked for
        module = importlib.import_module("retrivex.tokens.huggingface")
        return cast("Tokenizer", module.HuggingFaceTokenizer(spec))
    return TiktokenTokenizer(spec)


def _load_auto() -> tuple[Tokenizer, tuple[str, ...]]:
    try:
        return TiktokenTokenizer(DEFAULT_ENCODING), ()
    except TokenizerError as error:
        return EstimateTokenizer(), (f"token counts are estimated, on the high side; {error}",)


def _adopt(spec: Tokenizer | Callable[[str], int] | tiktoken.Encoding) -> Tokenizer:
    if isinstance(spec, Tokenizer):
        return spec
    if isinstance(spec, tiktoken.Encoding):
        return TiktokenTokenizer(spec)
    count = getattr(spec, "count", None)
    if callable(count) and not isinstance(spec, Sequence):
        name = str(getattr(spec, "name", type(spec).__name__))
        return CallableTokenizer(count, name, exact=bool(getattr(spec, "exact", True)))
    if callable(spec):
        return CallableTokenizer(spec)
    raise TokenizerError(
        f"tokenizer {spec!r}: a {type(spec).__name__} cannot count tokens. Pass a name like 'cl100k_base', 'estimate', "
        "the path of a tokenizer.json, an object with a `count(text)` method, or a function from text to number"
    )


def _warn_once(message: str) -> None:
    if not _warned.is_set():
        _warned.set()
        warnings.warn(message, TokenEstimateWarning, stacklevel=3)


def _cut_long_blanks(text: str) -> list[str]:
    cuts = [0, *(match.end() for match in _LONG_BLANK.finditer(text)), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(cuts)]
