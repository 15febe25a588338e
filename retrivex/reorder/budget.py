"""The budget of a call, in tokens or characters, and the cost of a passage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from retrivex.errors import RetrivexError, quoted
from retrivex.model.numbers import finite
from retrivex.reorder.options import ReorderOptions
from retrivex.reorder.passage import Candidate
from retrivex.tokens.tokenizer import Tokenizer, resolve_tokenizer


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on the text of a call, and how text is counted.

    Parameters
    ----------
    unit : `none` where there is no limit
    limit : most tokens or characters of all passages together
    tokenizer : counts tokens that did not come with a passage
    options : counts characters
    warnings : what its user should know of the tokenizer
    """

    unit: Literal["none", "tokens", "chars"]
    limit: float | None
    tokenizer: Tokenizer | None
    options: ReorderOptions
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: ReorderOptions) -> Budget:
        """Return the budget that options set: in tokens, or in characters where there is no tokenizer.

        Raises
        ------
        TokenizerError
            If the tokenizer cannot be had.
        """
        if options.max_tokens is not None and options.tokenizer is not None:
            tokenizer, warnings = resolve_tokenizer(options.tokenizer)
            return cls("tokens", options.max_tokens, tokenizer, options, warnings)
        if options.max_chars is not None:
            return cls("chars", options.max_chars, None, options)
        return cls("none", None, None, options)

    def cost(self, candidate: Candidate[Any]) -> float:
        """Return what a passage takes of the budget, in its unit."""
        if self.tokenizer is None:
            return self._chars(candidate.text)
        return self.tokens(candidate)

    def tokens(self, candidate: Candidate[Any]) -> float:
        """Return the tokens of a passage, whatever the unit of the budget is."""
        if candidate.token_count is not None:
            return candidate.token_count
        return (self.tokenizer or resolve_tokenizer(self.options.tokenizer)[0]).count(candidate.text)

    def _chars(self, text: str) -> float:
        returned = self.options.count_chars(text)
        count = finite(returned)
        if count is None or count < 0:
            raise RetrivexError(
                f"count_chars returned {quoted(returned)} for a text of {len(text)} characters: it must return a "
                "number of at least 0"
            )
        return count
