"""Measures at which depths of a context a model finds a needle, and what follows for the order."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import EndpointError, OrderingError, RetrivexError, quoted
from retrivex.evaluation.probe.needles import Haystack, Needle, fill, hide, make_needles, plain_sentences
from retrivex.evaluation.probe.position_fit import PositionFit, fit_positions
from retrivex.model.asking import Model, ModelReply, ModelRequest, Usage
from retrivex.ordering.profile import PositionProfile
from retrivex.tokens.tokenizer import Tokenizer, TokenizerSpec, get_tokenizer

ANSWER_TOKENS = 32
_PROMPT = """\
Somewhere in the text between the tags stands a registration number that you will be asked for. Read all of it.

<text>
{text}
</text>

Question: {question}
Answer with the number alone."""
_PROMPT_TOKENS = 80  # of the above without the text, nearly
_SEPARATOR = re.compile(r"(?<=\d)[,.'\u00a0\u202f ](?=\d)")


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of a probe.

    Parameters
    ----------
    model : its name
    lengths : of the texts, in tokens of `tokenizer`
    tokenizer : by name
    fit : accuracy by position over all lengths, and whether position matters
    by_length : length -> accuracy at each depth; without lengths at which no needle was asked for at every depth
    warnings : what was not answered, and why; answers that were cut
    usage : what was asked and spent

    Examples
    --------
    >>> class Blind:  # a model that finds nothing
    ...     usage = Usage()
    ...
    ...     def ask(self, requests):
    ...         return [ModelReply("I do not know.") for request in requests]
    >>> found: ProbeResult = probe(Blind(), lengths=[200], depths=3, needles=2, tokenizer="estimate")
    >>> found.fit.accuracy, found.verdict
    ((0.0, 0.0, 0.0), 'no effect seen: no answer was right at any depth; see that the model can answer at all')
    """

    model: str
    lengths: tuple[int, ...]
    tokenizer: str
    fit: PositionFit
    by_length: dict[int, tuple[float, ...]]
    warnings: tuple[str, ...]
    usage: Usage

    @property
    def profile(self) -> PositionProfile:
        """What the order `profile` reads; level where no effect is seen, so that noise moves no passage."""
        fit = self.fit
        source = (
            f"retrivex probe of {self.model}: {fit.needles} needles at {len(fit.positions)} depths, "
            f"{', '.join(map(str, self.lengths))} tokens; {'effect' if fit.matters else 'no effect'} seen"
        )
        return fit.profile(f"probe of {self.model}", source)

    @property
    def verdict(self) -> str:
        """One plain sentence: whether reordering can pay for this model."""
        fit = self.fit
        if fit.spread == 0 and fit.mean == 1:
            return "no effect seen: every answer was right at every depth; ask at greater lengths to see more"
        if fit.mean == 0:
            return "no effect seen: no answer was right at any depth; see that the model can answer at all"
        spread, noise = f"{100 * fit.spread:.0f} points", f"{100 * fit.noise:.0f} points"
        places = f"between the parts around {fit.positions[fit.best]:.2f} and {fit.positions[fit.worst]:.2f}"
        if fit.matters:
            return f"reordering can pay: accuracy differs by {spread} {places}, more than noise, which makes {noise}"
        return (
            f"no effect seen: accuracy differs by {spread} {places}, and noise alone makes up to {noise}; reordering "
            "is not shown to pay, and a smaller effect could only be seen with more needles"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as `PositionProfile.to_dict`, and under `measurement` all that it rests on."""
        measurement = {
            "model": self.model,
            "lengths": list(self.lengths),
            "tokenizer": self.tokenizer,
            "verdict": self.verdict,
            "matters": self.fit.matters,
            **asdict(self.fit),
            "by_length": {str(length): list(values) for length, values in self.by_length.items()},
            "warnings": list(self.warnings),
            "usage": asdict(self.usage),
        }
        return {**self.profile.to_dict(), "measurement": measurement}

    def save(self, path: str | Path) -> None:
        """Write a file that `PositionProfile.load`, and so the order `profile`, reads.

        Raises
        ------
        OrderingError
            If it cannot be written.
        """
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=2) + "\n"
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise OrderingError(f"position profile cannot be written to {quoted(path)}: {error}") from error


def probe(
    model: Model,
    lengths: Sequence[int] = (2000, 8000),
    depths: int = 11,
    needles: int = 20,
    *,
    name: str = "model",
    tokenizer: TokenizerSpec = "auto",
    answer_tokens: int = ANSWER_TOKENS,
    level: float = 0.95,
    seed: int = 0,
    report: Callable[[int, int], None] | None = None,
) -> ProbeResult:
    """Ask a model for needles at every depth of texts of every length.

    A needle stands in the same text at all depths, so that nothing but its place differs. With an `Endpoint` that has
    a cache, a probe that was stopped goes on where it was.

    Parameters
    ----------
    model : an `Endpoint` or anything else that answers
    lengths : of the texts, in tokens
    depths : evenly spread from the front to the end, at least 2
    needles : at each depth of each length
    name : of the model, for people
    tokenizer : what lengths are counted in
    answer_tokens : an answer has at most; models that think first need many more
    level : of bands and test
    seed : of needles and texts
    report : called with how many needles are asked for, of how many

    Raises
    ------
    RetrivexError
        If an argument breaks its rule.
    EndpointError
        If there is no use in asking on, or no needle was answered for at every depth.
    """
    _check(lengths, depths)
    counter = get_tokenizer(tokenizer)
    right = np.full((needles, len(lengths), depths), np.nan)
    places = np.zeros_like(right)
    problems: Counter[str] = Counter()
    cut = 0
    for number, needle in enumerate(make_needles(needles, seed)):
        texts = [text for length in lengths for text in _haystacks(needle, length, depths, counter, seed)]
        replies = model.ask([_request(text, needle, answer_tokens) for text in texts])
        shape = (len(lengths), depths)
        places[number] = np.reshape([text.position for text in texts], shape)
        right[number] = np.reshape([_is_right(reply, needle) for reply in replies], shape)
        problems.update(reply.problem or "no answer" for reply in replies if reply.text is None)
        cut += sum(reply.cut for reply in replies)
        if report is not None:
            report(number + 1, needles)
        if all(reply.text is None for reply in replies):
            break  # the cap is reached, or nothing is answered any more
    whole = ~np.isnan(right).any(axis=2)
    if not whole.any():
        said = f": {problems.most_common(1)[0][0]}" if problems else ""
        raise EndpointError(f"nothing was measured, as no needle was answered for at every depth{said}")
    rows = np.broadcast_to(np.arange(needles)[:, None], whole.shape)[whole]
    return ProbeResult(
        model=name,
        lengths=tuple(lengths),
        tokenizer=counter.name,
        fit=fit_positions(right[whole], places[whole], rows, level=level, seed=seed),
        by_length=_by_length(right, whole, lengths),
        warnings=_warnings(problems, right.size, int(whole.sum()), whole.size, cut, answer_tokens),
        usage=model.usage,
    )


def tokens_of_probe(lengths: Sequence[int], depths: int, needles: int, answer_tokens: int = ANSWER_TOKENS) -> int:
    """Return about how many tokens a probe spends at most.

    Examples
    --------
    >>> tokens_of_probe([2000, 8000], depths=11, needles=20)
    2249280
    """
    return sum(length + _PROMPT_TOKENS + answer_tokens for length in lengths) * depths * needles


def _haystacks(needle: Needle, length: int, depths: int, counter: Tokenizer, seed: int) -> list[Haystack]:
    draws = random.Random(f"filler {seed} {length} {needle.value}")
    sentences, costs = fill(plain_sentences(draws), length - counter.count(needle.sentence), counter)
    return [hide(needle, sentences, costs, depth, counter) for depth in np.linspace(0, 1, depths)]


def _request(text: Haystack, needle: Needle, answer_tokens: int) -> ModelRequest:
    head, tail = _PROMPT.split("{text}")
    return ModelRequest(head + text.text + tail.replace("{question}", needle.question), answer_tokens)


def _is_right(reply: ModelReply, needle: Needle) -> float:
    """1.0 if the answer holds the number, 0.0 if not, NaN for no answer."""
    if reply.text is None:
        return float("nan")
    numbers = re.findall(r"\d+", _SEPARATOR.sub("", reply.text))
    return float(needle.value in numbers)


def _by_length(
    right: NDArray[np.float64], whole: NDArray[np.bool_], lengths: Sequence[int]
) -> dict[int, tuple[float, ...]]:
    return {
        length: tuple(map(float, right[whole[:, at], at].mean(axis=0)))
        for at, length in enumerate(lengths)
        if whole[:, at].any()
    }


def _warnings(
    problems: Counter[str], asked: int, rows: int, all_rows: int, cut: int, answer_tokens: int
) -> tuple[str, ...]:
    said = [f"{count:,} of {asked:,} questions: {problem}" for problem, count in problems.items()]
    if rows < all_rows:
        said.append(f"{rows:,} of {all_rows:,} rows of depths were answered as a whole; the others are left out")
    if cut:
        said.append(
            f"{cut:,} answers were cut at {answer_tokens} tokens: a model that thinks before it answers needs more room"
        )
    return tuple(said)


def _check(lengths: Sequence[int], depths: int) -> None:
    if not lengths or any(type(length) is not int or length < 100 for length in lengths):
        raise RetrivexError(f"lengths are {quoted(lengths)}: give whole numbers of tokens from 100")
    if depths < 2:
        raise RetrivexError(f"depths is {depths}: it must be at least 2")
