"""The reference of options: default, values, meaning and effect of each, step by step.

Default, values and meaning are read from the declarations of `RetrievalConfig`, the effect from `results/options.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import groupby
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Interval
from pydantic import BaseModel

from benchmarks.evidence.options import DENSE, UNMEASURED, spell
from benchmarks.report.committed import result
from retrivex.config import COMMON_OPTIONS, RetrievalConfig

NAMES: Mapping[Any, str] = {
    NoneType: "none",
    bool: "`true` or `false`",
    int: "a whole number",
    float: "a number",
    str: "a text, as described",
    Path: "a path, as described",
    Any: "a passage, as described",
    re.Pattern: "a compiled pattern",
}
WIDENED = ", as no window is set"
"""Of the default of `pool_factor`, which is none where one is."""


def values(kind: Any, rules: Sequence[Any] = ()) -> str:
    """Say what a type takes.

    Parameters
    ----------
    kind : a type as it is annotated
    rules : for the numbers in it: what pydantic keeps of `Field(ge=0)`, or a range

    Examples
    --------
    >>> values(int | None, [range(1, 11)])
    'a whole number, 1 to 10; or none'
    >>> values(tuple[Literal["table", "list"], ...])
    'one or more, each `table`, `list`'
    """
    parts, origin = get_args(kind), get_origin(kind) or kind
    if origin is Annotated:
        return values(parts[0], [*rules, *parts[1:]])
    if origin in (Union, UnionType):
        return "; or ".join(values(part, rules) for part in sorted(parts, key=lambda part: part is NoneType))
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin is tuple:
        return f"{'one or more' if parts[1] is Ellipsis else 'a pair'}, each {values(parts[0], rules)}"
    if origin is Callable:
        return "a function"
    if origin in (int, float):
        return ", ".join([NAMES[origin], *_limits(rules)])
    if origin in NAMES:
        return NAMES[origin]
    if issubclass(origin, Enum):
        return ", ".join(f"`{member.value}`" for member in origin)
    alike = _values_of_fields(origin) if issubclass(origin, BaseModel) else set()
    if len(alike) == 1:
        return f"{', '.join(f'`{name}`' for name in origin.model_fields)}: each {alike.pop()}"
    return f"`{origin.__name__}`, as described"


def _values_of_fields(model: type[BaseModel]) -> set[str]:
    return {values(field.annotation, field.metadata) for field in model.model_fields.values()}


def _limits(rules: Sequence[Any]) -> Iterator[str]:
    """Yield the limits of numbers: `1 to 10`, `0 or more`, `above 0`."""
    plain = [one for rule in rules for one in getattr(rule, "metadata", [rule])]
    plain = [Interval(ge=rule[0], le=rule[-1]) if isinstance(rule, range) else rule for rule in plain]
    found = [(name, getattr(rule, name, None)) for rule in plain for name in ("ge", "gt", "le")]
    bounds = {name: f"{bound:,}".replace("-", "−") for name, bound in found if bound is not None}
    low = f"above {bounds['gt']}" if "gt" in bounds else bounds.get("ge")
    if low:
        yield f"{low} to {bounds['le']}" if "le" in bounds else low if "gt" in bounds else f"{low} or more"


def default(name: str) -> str:
    """Return the value of an option that nobody set."""
    value = getattr(RetrievalConfig(), name)
    said = "none" if value in (None, ()) else spell(getattr(value, "value", value))
    return f"`{said}`{WIDENED if name == 'pool_factor' else ''}"


def effect(name: str) -> str:
    """Return what other values of an option change, a line for each, or why that was not measured."""
    rows = [row for row in result("options")["cells"] if row["option"] == name]
    if not rows:
        return f" Not measured: {UNMEASURED[name]}"
    lines = groupby(rows, key=lambda row: (row["value"], row["beside"], row["given"]))
    return "".join(f"\n    - {_line(*key, list(some))}" for key, some in lines)


def _line(value: str, beside: Mapping[str, str], given: str, rows: Sequence[Mapping[str, Any]]) -> str:
    also = [f"`{option}={said}`" for option, said in beside.items()] + ([] if given == DENSE else [given])
    head = f"{value}, with {' and '.join(also)}" if also else value
    if not any(row["changed"] for row in rows):
        return f"{head}: no context changes."
    points = [_points(row["evidence"]) + _budget(row) for row in rows]
    said = ", ".join(points) if any(any(row["evidence"]) for row in rows) else "the same evidence"
    tokens = " and ".join(dict.fromkeys(f"{_signed(row['tokens'][0])} %" for row in rows))
    changed = " and ".join(dict.fromkeys(f"{row['changed']:.0f} %" for row in rows))
    return f"{head}: {said}. Tokens {tokens}; {changed} of the contexts change."


def _budget(row: Mapping[str, Any]) -> str:
    return "" if row["option"] == "token_budget" else f" at {row['budget']:,} tokens"


def _points(interval: Sequence[float]) -> str:
    mean, low, high = map(_signed, interval)
    return f"{mean} points [{low}, {high}]"


def _signed(value: float) -> str:
    """Write a change with its sign, and none for what rounds to nothing."""
    rounded = round(value, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def reference(step: str) -> str:
    """Return the options of a step, each under its own heading."""
    return "".join(map(entry, RetrievalConfig.option_groups()[step]))


def entry(name: str) -> str:
    """Return an option with its meaning, default, values and effect."""
    field = RetrievalConfig.model_fields[name]
    return f"""
### `{name}`

{field.description}

- **Default:** {default(name)}
- **Values:** {values(field.annotation, field.metadata)}
- **Effect:**{effect(name)}
"""


def common() -> str:
    """Return the table of the options that are changed most often."""
    rows = [
        f"| [`{name}`](#{name}) | {default(name)} | {RetrievalConfig.model_fields[name].description} |"
        for name in COMMON_OPTIONS
    ]
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])


def how() -> str:
    """Say what the effects were measured on."""
    found = result("options")
    bases = {row["budget"]: row["base"] for row in found["cells"] if not row["beside"] and row["given"] == DENSE}
    shown = " and ".join(
        f"{base['evidence']} % of the evidence in {base['tokens']:,} of {budget:,} tokens"
        for budget, base in bases.items()
    )
    return f"""\
An effect says what another value than the default changes, on {found["most_questions"]} questions of each of
{len(found["sets"])} public sets (`make bench-options`). A question has {found["hits"]} hits by vectors, in chunks of
{found["size"]} tokens; all sets share one index, and the coefficients are fitted without the set that is asked. The
default shows {shown}.

- *Points* are percent of the evidence, with a 95 % interval.
- *Tokens* are those of the text, in percent of what the default takes.
- How well a model reads what is shown is not measured here; see
  [what orders are worth](../explain/order_value.md#orders-beside-one-another).
"""


TABLES = {
    "options": how,
    "options_common": common,
    **{f"options_{step}": partial(reference, step) for step in RetrievalConfig.option_groups()},
}
