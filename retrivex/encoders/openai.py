"""Encoding at an endpoint that is compatible with OpenAI's embeddings, through OpenAI's client (extra `openai`)."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from retrivex.encoders.queries import prefixes_of
from retrivex.errors import EncoderError, describe_cause, install_hint, quoted
from retrivex.text.addresses import Confidential, find_fault
from retrivex.tokens.tokenizer import without_surrogates

try:
    import openai
except ImportError as error:
    raise ImportError(f"encoding at an endpoint needs openai: {install_hint('openai')}") from error

_OPENAI = "https://api.openai.com/v1"
_ADVICE = {
    401: "see that the API key is right",
    403: "see that the key may use this model",
    404: "see that the address, which mostly ends in /v1, and the model's name are right",
    429: "ask less often, or see that the quota is not used up",
}
_ADVICE_ELSE = "see that the texts are not too long for the model; smaller chunks (--size) are shorter"
_SHOWN = 200  # characters of an endpoint's own words in an error
_OF_OPENAI = ("OpenAI-Organization", "OpenAI-Project")
_LOCAL_KEY = "none"  # the client insists on a key, servers at home do not read it


class OpenAIEncoder:
    """Encodes at `/v1/embeddings` of Ollama, vLLM, Text Embeddings Inference, OpenAI or any that is compatible.

    OpenAI's client asks again after status 408, 409, 429 and 5xx, time-outs and broken connections. Errors hide the key
    and the secrets of the address. Models of the families E5, Nomic Embed and EmbeddingGemma get their prefixes for
    questions and passages, which servers do not add. May be used from several threads.

    Parameters
    ----------
    model : as the endpoint calls it
    base_url : up to where `/embeddings` follows, e.g. `http://localhost:11434/v1`; None takes OPENAI_BASE_URL, or
        OpenAI's own without it
    api_key : None takes OPENAI_API_KEY where `base_url` is None, too: a key goes nowhere but where it belongs
    batch_size : texts in one request
    retries : new attempts after a failure that may pass
    timeout_s : seconds that one attempt may take

    Raises
    ------
    EncoderError
        If an argument breaks its rule, or neither an address nor a key is known.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        batch_size: int = 64,
        retries: int = 2,
        timeout_s: float = 60.0,
    ) -> None:
        key = api_key if api_key or base_url else os.environ.get("OPENAI_API_KEY")
        url = base_url or os.environ.get("OPENAI_BASE_URL") or (_OPENAI if key else "")
        _check(model, url, key, batch_size)
        self.name = f"openai:{model}"
        self._model = model
        self._batch_size = batch_size
        self._query_prefix, self._passage_prefix = prefixes_of(model)
        self._place = Confidential(url, key)
        self._dimension = 0
        self._lock = threading.Lock()
        # the client would send the organisation and the project of the environment to any endpoint
        kept_back = {} if url == _OPENAI else dict.fromkeys(_OF_OPENAI, openai.Omit())
        self._client = openai.OpenAI(
            base_url=url, api_key=key or _LOCAL_KEY, timeout=timeout_s, max_retries=retries, default_headers=kept_back
        )

    def __repr__(self) -> str:
        return f"OpenAIEncoder({self._model!r}, {self._place.address!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept open; the endpoint may not be asked afterwards."""
        self._client.close()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages, shape (len(texts), d); d is 0 where nothing was encoded yet.

        Raises
        ------
        EncoderError
            If the endpoint cannot be reached, refuses, or does not give one vector of one dimension a text.
        """
        return self._rows(self._passage_prefix, texts)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of questions, shape (len(texts), d); errors are those of `encode`."""
        return self._rows(self._query_prefix, texts)

    def _rows(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        # an empty text is refused by many
        read = [prefix + without_surrogates(text) or " " for text in texts]
        parts = [self._read(batch, self._ask(batch)) for batch in self._batches(read)]
        return np.concatenate(parts) if parts else np.zeros((0, self._dimension), dtype=np.float32)

    def _batches(self, texts: list[str]) -> list[list[str]]:
        return [texts[start : start + self._batch_size] for start in range(0, len(texts), self._batch_size)]

    def _ask(self, texts: list[str]) -> object:
        address = self._place.address
        try:
            # some servers know no base64, which the client asks for by default
            return self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
        except openai.APITimeoutError as error:
            raise EncoderError(f"{address} did not answer in time: raise timeout_s, or lower batch_size") from error
        except openai.APIConnectionError as error:
            cause = describe_cause(error.__cause__ or error, hide=self._place.hide)
            raise EncoderError(
                f"{address} cannot be reached ({cause}): start the server, or see that OPENAI_BASE_URL is right"
            ) from error
        except openai.APIStatusError as error:
            status, words = error.status_code, self._shorten(error.response.text)
            advice = "try again later" if status >= 500 else _ADVICE.get(status, _ADVICE_ELSE)
            raise EncoderError(f"{address} refused with status {status}: {advice} ({words})") from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:  # a body that is none
            raise self._unreadable(error) from error

    def _read(self, texts: list[str], made: Any) -> NDArray[np.float32]:
        # a server may send anything, and the client checks nothing of it
        try:
            found = {item.index: np.asarray(item.embedding, dtype=np.float32) for item in made.data}
            rows = np.stack([found[place] for place in range(len(texts))])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._unreadable(made, f"{len(texts)} vectors of one length, with an index each") from error
        if len(made.data) != len(texts) or rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
            raise self._unreadable(made, f"{len(texts)} vectors of finite numbers")
        with self._lock:
            self._dimension = self._dimension or rows.shape[1]
        if rows.shape[1] != self._dimension:
            raise EncoderError(
                f"{self._place.address} gave vectors of {rows.shape[1]} numbers, and of {self._dimension} before: see "
                f"that {self._model!r} is one model still"
            )
        return rows

    def _unreadable(self, what: object, wanted: str = "JSON of embeddings") -> EncoderError:
        return EncoderError(f"{self._place.address} did not answer with {wanted} ({self._shorten(what)})")

    def _shorten(self, words: object) -> str:
        return " ".join(self._place.hide(str(words)).split())[:_SHOWN] or "it said nothing"


def _check(model: str, url: str, key: str | None, batch_size: int) -> None:
    if not isinstance(model, str) or not model.strip():
        raise EncoderError(f"model is {quoted(model)}: give its name at the endpoint, as in openai:bge-m3")
    if batch_size < 1:
        raise EncoderError(f"batch_size={batch_size}: a batch holds at least 1 text; 64 is usual")
    if not url:
        raise EncoderError(
            f"no endpoint for {quoted(model)} is known: set OPENAI_BASE_URL, e.g. to http://localhost:11434/v1, or "
            "OPENAI_API_KEY for OpenAI's own"
        )
    if fault := find_fault(url):
        raise EncoderError(f"base_url {fault}")
    if not url.startswith(("http://", "https://")):
        raise EncoderError(f"base_url is {quoted(url)}: give the endpoint's address, e.g. http://localhost:11434/v1")
    # the client would quote a key that no header can hold
    if key and not (key.isascii() and key.isprintable()):
        raise EncoderError("api_key is no printable ASCII text: see that the key alone was copied, without line ends")
