"""Token counting with a Hugging Face `tokenizer.json` (extra `tokenizers`)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from retrivex.errors import TokenizerError, install_hint
from retrivex.text.files import read_small_file
from retrivex.tokens.tokenizer import without_surrogates

try:
    from tokenizers import Tokenizer as FastTokenizer
except ImportError as error:
    raise ImportError(
        f"counting with a tokenizer.json needs the package tokenizers: {install_hint('tokenizers')}"
    ) from error


class HuggingFaceTokenizer:
    """Counts with the vocabulary of a `tokenizer.json`, without the special tokens a model adds around a text.

    Parameters
    ----------
    path : the `tokenizer.json`

    Raises
    ------
    TokenizerError
        If the file cannot be read or is not a `tokenizer.json`.
    """

    exact = True

    def __init__(self, path: str | PathLike[str]) -> None:
        content = _read(Path(path))
        try:
            self._tokenizer = FastTokenizer.from_buffer(content)
        except Exception as error:  # tokenizers raises nothing narrower
            raise TokenizerError(
                f"tokenizer {str(path)!r}: not a Hugging Face tokenizer.json ({error}). Give the tokenizer.json that "
                "lies beside the model's weights"
            ) from error
        # Files of embedding models ask for both, and would count every long text as 128 or 512 tokens.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # The file is always called tokenizer.json: only its content distinguishes vocabularies.
        self.name = f"huggingface:{hashlib.sha256(content).hexdigest()[:16]}"

    def __repr__(self) -> str:
        return f"HuggingFaceTokenizer({self.name!r})"

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return self.count_many([text])[0]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        encodings = self._tokenizer.encode_batch_fast(
            [without_surrogates(text) for text in texts], add_special_tokens=False
        )
        return [len(encoding) for encoding in encodings]


MAX_TOKENIZER_BYTES = 256 * 1024 * 1024
"""Largest tokenizer.json that is read."""


def _read(path: Path) -> bytes:
    try:
        return read_small_file(path, MAX_TOKENIZER_BYTES)
    except OSError as error:
        raise TokenizerError(
            f"tokenizer {str(path)!r}: a name that ends in .json is the path of a tokenizer.json, and it cannot be "
            f"read ({error.strerror}). Check the path"
        ) from error
