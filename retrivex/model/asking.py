"""The protocol of models that answer prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A prompt.

    Parameters
    ----------
    prompt : what the user says
    max_tokens : of the answer at most
    system : instructions in front of it; None for none
    """

    prompt: str
    max_tokens: int = 128
    system: str | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The outcome of a request.

    Parameters
    ----------
    text : the answer, "" where the model said nothing; None where there is none
    problem : why there is none
    cut : whether the answer ended because it was as long as it may be
    """

    text: str | None
    problem: str | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """The requests sent and tokens spent so far.

    Parameters
    ----------
    sent : requests that went out, new attempts included
    answered : of them, those that were answered
    cached : answers that were known already and cost nothing
    unanswered : prompts without an answer in the end
    cut : answers that ended because they were as long as they may be
    prompt_tokens, answer_tokens : as the endpoint counts them
    estimated_tokens : of these, those that the endpoint did not count and that are estimated
    """

    sent: int = 0
    answered: int = 0
    cached: int = 0
    unanswered: int = 0
    cut: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    estimated_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Of prompts and answers together."""
        return self.prompt_tokens + self.answer_tokens

    def __str__(self) -> str:
        guessed = f", {self.estimated_tokens:,} of them estimated" if self.estimated_tokens else ""
        lost = f", {self.unanswered:,} without an answer" if self.unanswered else ""
        return (
            f"{self.answered:,} answers for {self.tokens:,} tokens ({self.prompt_tokens:,} of prompts{guessed}), "
            f"{self.cached:,} more out of the cache{lost}"
        )


class Model(Protocol):
    """Answers prompts."""

    def ask(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        """Return a reply for each request, in their order; what fails for one alone is its reply's `problem`.

        Raises
        ------
        EndpointError
            If there is no use in asking on.
        """

    @property
    def usage(self) -> Usage:
        """What has been asked and spent so far."""
