"""One request to `/chat/completions` through OpenAI's client (extra `evaluate`), and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retrivex.errors import describe_cause, install_hint
from retrivex.evaluation.answers.answer_cache import KeptAnswer
from retrivex.text.addresses import Confidential
from retrivex.timeouts import retry_after
from retrivex.tokens.tokenizer import without_surrogates

try:
    import openai
except ImportError as error:
    raise ImportError(f"asking a model needs openai: {install_hint('evaluate')}") from error

_FATAL = {
    401: "see that the API key is right",
    403: "see that the key may use this model",
    404: "see that the url, which mostly ends in /v1, and the model's name are right",
}
_TOO_MANY = 429
_MAY_PASS = (408, 409, _TOO_MANY)
_SHOWN = 200  # characters of an endpoint's own words in a message
_LOCAL_KEY = "none"  # the client insists on a key, servers at home do not read it


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why an attempt brought no answer.

    Parameters
    ----------
    message : for the user
    again : whether asking again may help
    fatal : whether no request can be answered
    wait_s : seconds that the endpoint asks to wait; None where it does not
    costs : whether the prompt may have to be paid for all the same
    unreached : whether there was nobody who could have answered
    """

    message: str
    again: bool = False
    fatal: bool = False
    wait_s: float | None = None
    costs: bool = False
    unreached: bool = False


class ChatCompletions:
    """Sends requests and reads any reply; safe for threads."""

    def __init__(self, url: str, api_key: str | None, timeout_s: float) -> None:
        self._place = Confidential(url, api_key)
        self._address = self._place.address
        self._client = openai.OpenAI(base_url=url, api_key=api_key or _LOCAL_KEY, max_retries=0, timeout=timeout_s)

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._client.close()

    def attempt(self, body: Mapping[str, Any]) -> KeptAnswer | Failure:
        """Send a request once."""
        extra = {name: value for name, value in body.items() if name not in ("model", "messages")}
        try:
            made: object = self._client.chat.completions.create(
                model=body["model"], messages=body["messages"], extra_body=extra
            )
        except openai.APITimeoutError:
            return Failure(f"{self._address} did not answer in time: raise timeout_s", again=True, costs=True)
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            unreached = type(cause).__name__ == "ConnectError"  # of the HTTP client, whichever openai has
            return Failure(
                f"{self._address} cannot be reached ({describe_cause(cause, hide=self._place.hide)})",
                again=True,
                unreached=unreached,
            )
        except openai.APIStatusError as error:
            return self._refusal(error)
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:  # a body that is none
            return self._make_unreadable(error)
        return self._read(made)

    def _refusal(self, error: openai.APIStatusError) -> Failure:
        status, words = error.status_code, self._shorten(error.response.text)
        if status in _FATAL:
            return Failure(f"{self._address} refused with status {status}: {_FATAL[status]} ({words})", fatal=True)
        if status == _TOO_MANY and error.code == "insufficient_quota":
            return Failure(f"{self._address} says that the quota is used up ({words})", fatal=True)
        if status in _MAY_PASS or status >= 500:
            wait_s = retry_after(error.response.headers.get("retry-after"))
            return Failure(f"{self._address} failed with status {status} ({words})", again=True, wait_s=wait_s)
        return Failure(
            f"{self._address} refused a request with status {status} ({words}): see that the prompt is not too long "
            "for the model, and that it takes these options"
        )

    def _read(self, made: object) -> KeptAnswer | Failure:
        # a server may send anything, and the client checks nothing of it
        choices = getattr(made, "choices", None)
        message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
        text = getattr(message, "content", None)
        if message is None or not isinstance(text, str | None):
            return self._make_unreadable(made)
        usage = getattr(made, "usage", None)
        cut = getattr(choices[0], "finish_reason", None) == "length" if isinstance(choices, list) else False
        words = without_surrogates(text or "")  # half a character can be written nowhere
        return KeptAnswer(words, cut, _number(usage, "prompt_tokens"), _number(usage, "completion_tokens"))

    def _make_unreadable(self, what: object) -> Failure:
        return Failure(
            f"{self._address} gave no answer that can be read ({self._shorten(what)})", again=True, costs=True
        )

    def _shorten(self, words: object) -> str:
        return " ".join(self._place.hide(str(words)).split())[:_SHOWN] or "it said nothing"


def _number(usage: object, name: str) -> int | None:
    number = getattr(usage, name, None)
    return number if type(number) is int and number >= 0 else None
