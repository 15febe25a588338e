"""Base of the classes that hold options: frozen, and checked when they are made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from retrivex.errors import ConfigError, RetrivexError, quoted


class Options(BaseModel):
    """Options that are checked together when they are set, and never change.

    Raises
    ------
    ConfigError
        If a name is no option, or a value breaks its rule.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)

    _example: ClassVar[str] = "option=value"
    """An option as the way out of an error shows it."""

    if not TYPE_CHECKING:  # type checkers read the names of the options from the fields

        def __init__(self, /, *nameless: Any, **options: Any) -> None:
            if nameless:
                kind = type(self).__name__
                raise ConfigError(
                    f"{kind} is given {quoted(nameless[0])} without a name: name each option, as in "
                    f"{kind}({self._example})"
                )
            with clear_errors(type(self)):
                super().__init__(**options)

        def __setattr__(self, name: str, value: Any) -> None:
            raise ConfigError(f"{name} of a {type(self).__name__} is frozen: make a new one with {name}=...")

    @classmethod
    def model_validate(cls, obj: Any, **settings: Any) -> Self:
        """Return the options that a mapping or an instance holds."""
        with clear_errors(cls):
            return super().model_validate(obj, **settings)


@contextmanager
def clear_errors(model: type[BaseModel]) -> Iterator[None]:
    """Turn pydantic's errors into one `ConfigError`: for each wrong option the value, the rule, the way out."""
    try:
        yield
    except ValidationError as error:
        rules: dict[str, list[str]] = {}  # a value that fits none of several forms breaks the rule of each
        for problem in error.errors():
            value, rule = _problem(problem, model)
            rules.setdefault(value, []).append(rule)
        raise ConfigError("; ".join(value + ", or ".join(broken) for value, broken in rules.items())) from None


def suggest(name: str, known: Iterable[str], where: str) -> str:
    """Return the way out for a name that does not exist.

    Parameters
    ----------
    name : as it was given
    known : the names that exist
    where : what to look them up in

    Examples
    --------
    >>> suggest("token_bugdet", ["window", "token_budget"], "RetrievalConfig")
    'did you mean token_budget?'
    >>> suggest("colour", ["window", "token_budget"], "RetrievalConfig")
    'see RetrievalConfig for their names'
    """
    near = closest_name(name, known)
    return f"see {where} for their names" if near is None else f"did you mean {near}?"


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that another one is most like, whatever its capitals and underscores; None for none.

    Examples
    --------
    >>> closest_name("docID", ["doc_id", "chunk_id"]), closest_name("colour", ["doc_id"])
    ('doc_id', None)
    """
    folded = {_fold(one): one for one in reversed(list(known))}
    near = get_close_matches(_fold(name), list(folded), n=1)
    return folded[near[0]] if near else None


def _fold(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


_TYPE = re.compile(r"(literal|tuple|function-\w+)\[|(constrained-)?(int|float|str)$")
"""Names of types, by which pydantic tells the forms of a value apart."""


def _problem(problem: Mapping[str, Any], model: type[BaseModel]) -> tuple[str, str]:
    """Return what is wrong, and the rule that it breaks."""
    name = ".".join(str(part) for part in problem["loc"] if not _TYPE.match(str(part)))
    if problem["type"] == "extra_forbidden":
        return name, f": there is no such option; {suggest(name, model.model_fields, model.__name__)}"
    cause = problem.get("ctx", {}).get("error")
    if isinstance(cause, RetrivexError):  # it names the value itself
        return (str(cause), "") if not name or name in str(cause) else (f"{name}: ", str(cause))
    rule = problem["msg"].replace("Input should", "it should", 1)
    return f"{name or model.__name__} is {quoted(problem['input'])}: ", rule
