"""Jinja2's sandbox with bounds on what a rendering costs (extra `templates`).

Whatever makes a value in a template is charged before it is made: operators, filters, calls, what is put in. Lists,
tuples and mappings are charged as trees, so that none can hold itself many times over.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import chain
from typing import Any

from jinja2 import Undefined, nodes, pass_context
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

from retrivex.errors import RetrivexError
from retrivex.prompts.source import Source

MAX_STEPS = 1_000_000
"""Turns of loops and calls of macros in one rendering; some seconds."""

MAX_CHARACTERS = 64 * 1024 * 1024
"""Characters that one rendering makes, those of values on the way included."""

_MOST_BITS = 1024  # of a whole number; floating-point numbers end there, too
_MOST_NESTED = 32
_MOST_WIDE = 100  # blanks of an indent, digits of a rounding
_ITEM = 64  # characters that an element of a list is charged beside its own: what it takes, and the time to walk it
_PIECES = 16  # the same for what is taken apart
_WRITTEN = 10  # \U000e0001: the longest way to write a character in a list
_ESCAPED = 12  # \ud83d\ude00: the longest in JSON, and %F0%9F%98%80 in a URL
_FIELD = 1000  # a number as a format may write it, with a width of three digits

_LEFT_OUT = ("batch", "center", "pprint", "slice", "urlize", "wordwrap", "xmlattr")
"""Filters that make much of little and that no prompt needs."""

_OUTER = frozenset({
    "abs", "attr", "count", "d", "default", "filesizeformat", "first", "float", "int", "items", "last",
    "length", "list", "map", "random", "reject", "rejectattr", "round", "select", "selectattr",
})  # fmt: skip
"""Filters that read no more of a list than which elements it has."""

_READING = frozenset({
    "dictsort", "groupby", "join", "max", "min", "reverse", "sort", "sum", "tojson", "unique",
})  # fmt: skip
"""Filters that read what a list holds, and do not write it as Python would."""

_GROWTH = {
    **dict.fromkeys(("striptags", "title", "wordcount", "indent"), _PIECES),
    **dict.fromkeys(("tojson", "urlencode"), _ESCAPED),
    **dict.fromkeys(("e", "escape", "forceescape"), 6),
    **dict.fromkeys(("capitalize", "lower", "upper"), 3),
}
"""How much longer a filter can make a text, or how much its pieces take."""

_TEXT_METHODS = frozenset({
    "capitalize", "casefold", "count", "endswith", "find", "format", "format_map", "index", "isalnum",
    "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable",
    "isspace", "istitle", "isupper", "join", "lower", "lstrip", "partition", "removeprefix", "removesuffix",
    "replace", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith",
    "strip", "swapcase", "title", "upper",
})  # fmt: skip
_METHODS: dict[type, frozenset[str]] = {
    str: _TEXT_METHODS,
    bytes: frozenset(),
    int: frozenset(),
    float: frozenset({"is_integer"}),
    complex: frozenset(),
    list: frozenset({"copy", "count", "index"}),
    tuple: frozenset({"count", "index", "grouper", "list"}),
    dict: frozenset({"copy", "get", "items", "keys", "values"}),
    range: frozenset({"start", "stop", "step"}),
    type: frozenset(),
}
"""The attributes of built-in types that a template may use."""

_WIDE_FORMAT = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(?:\*|\d{4}|\d*\.(?:\*|\d{4}))")
_WIDE_SPEC = re.compile(r"[:.]\D*\d{4}|[:.][^}]*\{|\d{4}[^{}]*\}")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox, with bounds on what a template can cost: its steps, the texts it makes, the size of its numbers."""

    intercepted_binops = frozenset({"+", "-", "*", "**", "%"})

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, finalize=_charge_output)
        self._taken = threading.local()  # one template may be rendered by several threads
        del self.globals["lipsum"]
        self.globals["namespace"] = _Namespace
        known = {name: change for name, change in self.filters.items() if name not in _LEFT_OUT}
        self.filters = {name: _bounded(name, change) for name, change in known.items()}
        self.tests = {name: _bounded_test(test) for name, test in self.tests.items()}

    def begin(self) -> None:
        """Count what another rendering costs."""
        self._taken.steps = self._taken.made = 0

    def step(self) -> bool:
        """Count a turn of a loop or a call of a macro."""
        self._taken.steps += 1
        if self._taken.steps > MAX_STEPS:
            raise RetrivexError(f"its loops and macros take more than {MAX_STEPS:,} steps, the limit: show less")
        return True

    def charge(self, characters: int) -> None:
        """Count characters that are about to be made."""
        self._taken.made += characters
        if self._taken.made > MAX_CHARACTERS:
            raise _too_much()

    def bound(self, tree: nodes.Template) -> nodes.Template:
        """Return the template with a charge for each step, literal text, list, comparison, slice and `~`."""
        bounded: nodes.Template = _Charges(self).visit(tree)
        return bounded

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Operate within bounds."""
        if isinstance(left, int) and isinstance(right, int):
            if operator == "**" and abs(left) > 1 and left.bit_length() * right > 2 * _MOST_BITS:
                raise _too_big()
        elif operator == "%" and isinstance(left, str):
            self.charge(_format_size(left, right if isinstance(right, tuple) else (right,)))
        elif operator == "*" and isinstance(left, Collection) != isinstance(right, Collection):
            many, times = (left, right) if isinstance(left, Collection) else (right, left)
            self.charge(measure(many, 0) * max(int(times), 0) if isinstance(times, int) else 0)
        elif isinstance(left, Collection) and isinstance(right, Collection):
            growth = 6 if isinstance(left, Markup) != isinstance(right, Markup) else 1  # one escapes the other
            self.charge((measure(left, 0) + measure(right, 0)) * growth)
        return _checked(super().call_binop(context, operator, left, right))

    def joined(self, value: Any) -> Any:
        """Charge what `~` joins."""
        self.charge(measure(value))
        return value

    def literal(self, value: Any) -> Any:
        """Charge a list as it is written in the template."""
        self.charge(measure(value, 0))
        return value

    def compared(self, value: Any) -> Any:
        """Charge what a comparison reads."""
        self.charge(_read_size(value))
        return value

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as Jinja2's
        """Call within bounds."""
        if getattr(__obj, "__self__", None) is __self:  # a charge
            return __obj(*args)
        args = tuple(_drawn(__self, value) for value in args)  # a method would draw them before they are charged
        said = [*args, *(value for name, value in kwargs.items() if name not in ("_loop_vars", "_block_vars"))]
        __self.charge(_call_size(__obj, said))
        made = super().call(__context, __obj, *args, **kwargs)
        if isinstance(made, Collection):
            __self.charge(measure(made, 0))
        return _checked(made)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may use an attribute."""
        known = next((names for kind, names in _METHODS.items() if isinstance(obj, kind)), None)
        return (known is None or attr in known) and super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return a `format` within bounds."""
        made = super().wrap_str_format(value)
        if made is None:
            return None
        template = value.__self__

        def bounded(*args: Any, **kwargs: Any) -> str:
            self.charge(_format_size(template, [*args, *kwargs.values()]))
            return made(*args, **kwargs)

        return bounded


class _Namespace(Namespace):
    def __repr__(self) -> str:  # what it holds may hold itself
        return "<namespace>"


class _Charges(NodeTransformer):
    """Puts calls of the environment's charges into a template."""

    def __init__(self, environment: BoundedEnvironment) -> None:
        self._environment = environment

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if node.test is not None:  # read for turns that are not taken, too
            node.test = nodes.And(self._call("step", node), node.test).set_lineno(node.lineno)
        return self._with_step(node)

    def _with_step(self, node: Any) -> nodes.Node:
        node.body.insert(0, nodes.ExprStmt(self._call("step", node)).set_lineno(node.lineno))
        made: nodes.Node = node
        return made

    def _visit_called(self, node: nodes.Node) -> nodes.Node:
        self.generic_visit(node)
        return self._with_step(node)

    visit_Macro = visit_CallBlock = visit_Block = _visit_called  # noqa: N815

    def visit_Output(self, node: nodes.Output) -> list[nodes.Node]:  # noqa: N802
        self.generic_visit(node)
        length = sum(len(part.data) for part in node.nodes if isinstance(part, nodes.TemplateData))
        charge = nodes.ExprStmt(self._call("charge", node, nodes.Const(length))).set_lineno(node.lineno)
        return [charge, node] if length else [node]

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.nodes = [self._call("joined", node, part) for part in node.nodes]
        return node

    def _visit_literal(self, node: nodes.Expr) -> nodes.Node:
        self.generic_visit(node)
        return node if getattr(node, "ctx", "load") == "store" else self._call("literal", node, node)

    visit_List = visit_Tuple = visit_Dict = _visit_literal  # noqa: N815

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return self._call("literal", node, node) if isinstance(node.arg, nodes.Slice) else node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.expr = self._call("compared", node, node.expr)
        for operand in node.ops:
            operand.expr = self._call("compared", node, operand.expr)
        return node

    def _call(self, name: str, at: nodes.Node, *values: nodes.Expr) -> nodes.Call:
        call = nodes.Call(nodes.EnvironmentAttribute(name), list(values), [], None, None)
        call.set_lineno(at.lineno).set_environment(self._environment)
        return call


def measure(value: Any, longest: int = _WRITTEN) -> int:
    """Return the most characters that a value takes as a text.

    Parameters
    ----------
    value : whatever a template has
    longest : characters that one takes where a list is written; 1 where it is only read, 0 where it is only held

    Raises
    ------
    RetrivexError
        If they are more than `MAX_CHARACTERS`, or it is nested too deeply.
    """
    if isinstance(value, str):
        return len(value)
    total = 0
    walks: list[Iterator[Any]] = [iter((value,))]
    while walks:
        for item in walks[-1]:
            total += _ITEM
            inside: Iterable[Any] | None = None
            if isinstance(item, str):
                total += len(item) * (longest if longest <= 1 or not item.isprintable() else 1)
            elif isinstance(item, int):
                total += item.bit_length() // 3
            elif isinstance(item, range):
                total += len(item) * _ITEM
            elif isinstance(item, Undefined) or (isinstance(item, Source) and not longest):
                continue
            elif isinstance(item, Source):
                inside = [getattr(item, field.name) for field in fields(item)]
            elif isinstance(item, Mapping):
                inside = chain.from_iterable(item.items())
            elif isinstance(item, Collection):
                inside = item
            if total > MAX_CHARACTERS:
                raise _too_much()
            if inside is not None:
                walks.append(iter(inside))
                break
        else:
            walks.pop()
        if len(walks) > _MOST_NESTED:
            raise RetrivexError(f"its lists are nested more than {_MOST_NESTED} deep, the limit")
    return total


def _too_much() -> RetrivexError:
    return RetrivexError(f"it makes more than {MAX_CHARACTERS:,} characters, the limit: show less")


def _too_big() -> RetrivexError:
    return RetrivexError(f"it makes a number of more than {_MOST_BITS:,} bits, the limit: take smaller ones")


def _checked(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise _too_big()
    return value


@pass_context
def _charge_output(context: Any, value: Any) -> Any:
    context.environment.charge(measure(value) * (6 if context.eval_ctx.autoescape else 1))
    return value


def _read_size(value: Any) -> int:
    """Return what reading a value costs; texts are searched and compared at once."""
    return len(value) // 4 if isinstance(value, str) else measure(value, 1)


def _outer_size(value: Any) -> int:
    """Return what a copy of a list takes, whatever its elements hold."""
    return _ITEM * len(value) if isinstance(value, Collection) and not isinstance(value, Undefined) else _ITEM


def _bounded(name: str, change: Callable[..., Any]) -> Callable[..., Any]:
    """Filter that charges what it is about to make."""
    passed = getattr(change, "jinja_pass_arg", None)

    @pass_context
    def bounded(context: Any, value: Any = "", *args: Any, **kwargs: Any) -> Any:
        environment: BoundedEnvironment = context.environment
        value = _drawn(environment, value)
        environment.charge(_filter_size(name, value, args, kwargs))
        wanted = {"context": context, "eval_context": context.eval_ctx, "environment": environment}
        front = () if passed is None else (wanted[passed.name],)
        made = change(*front, value, *args, **kwargs)
        if isinstance(made, str):
            environment.charge(len(made))
        return _checked(made)

    return bounded


def _bounded_test(test: Any) -> Callable[..., Any]:
    passed = getattr(test, "jinja_pass_arg", None)

    @pass_context
    def bounded(context: Any, value: Any, *args: Any) -> Any:
        # what is undefined may be asked whether it is
        context.environment.charge(sum(map(_read_size, (value, *args))))
        front = () if passed is None else (context.environment,)
        return test(*front, value, *args)

    return bounded


def _drawn(environment: BoundedEnvironment, values: Any) -> Any:
    """Return the list of what an iterator yields, charged one by one; anything else as it is."""
    if not isinstance(values, Iterator) or isinstance(values, LoopContext):
        return values
    kept = []
    for value in values:
        environment.step()
        environment.charge(_ITEM)
        kept.append(value)
    return kept


def _filter_size(name: str, value: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """Return how many characters a filter makes at most."""
    said = [*args, *kwargs.values()]
    if name in _OUTER:
        if name == "round":
            _check_width(*said)
        return _outer_size(value) + sum(map(_read_size, said))
    if name == "format":
        return _format_size(str(value), said)
    if name == "join":
        between = args[0] if args else kwargs.get("d", "")
        items = value if isinstance(value, Collection) else ()
        return sum(map(measure, items)) + _length(between) * len(items)
    if name == "replace":
        old, new = (args[at] if len(args) > at else kwargs.get(key, "") for at, key in enumerate(("old", "new")))
        return _replaced_size(str(value), old, new)
    if name == "sum" and any(isinstance(start, Collection) and not isinstance(start, str) for start in said):
        raise RetrivexError("sum adds numbers: put lists together with +")
    size = measure(value, 1 if name in _READING else _WRITTEN) + sum(map(_read_size, said))
    if name in ("indent", "tojson"):
        width = args[0] if args else kwargs.get("width", kwargs.get("indent"))
        _check_width(width)
        step = len(width) if isinstance(width, str) else int(width or 0)
        # a line may be indented once for each list around it
        return size * _GROWTH[name] + size * step * (_MOST_NESTED if name == "tojson" else 1)
    return size * _GROWTH.get(name, 1)


def _check_width(*widths: Any) -> None:
    for width in widths:
        size = len(width) if isinstance(width, str) else abs(width or 0)
        if size > _MOST_WIDE:
            raise RetrivexError(f"a width is more than {_MOST_WIDE}, the limit: take a smaller one")


def _length(text: Any) -> int:
    return len(text) if isinstance(text, str) else measure(text)


def _replaced_size(text: str, old: Any, new: Any) -> int:
    return len(text) + text.count(str(old)) * _length(new) * (6 if isinstance(text, Markup) else 1)


def _format_size(template: str, values: Iterable[Any]) -> int:
    """Return how long a formatted text is at most, refusing widths of many digits."""
    if _WIDE_FORMAT.search(template) or _WIDE_SPEC.search(template):
        raise RetrivexError("a format is wider than 999, or its width is a value: write a smaller width into it")
    longest = max(map(measure, values), default=0) * (6 if isinstance(template, Markup) else 1)
    fields_in_it = template.count("%") + template.count("{")
    return len(template) + fields_in_it * (_FIELD + longest * (_WRITTEN if _quotes(template) else 1))


def _quotes(template: str) -> bool:
    return any(sign in template for sign in ("!r", "!a", "%r", "%a", "=}"))


def _call_size(called: Any, said: list[Any]) -> int:
    """Return how many characters a call reads, and a method of a text makes, at most."""
    size = sum(len(value) // 4 if isinstance(value, str) else measure(value, 0) for value in said)
    owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
    if isinstance(owner, str):
        if name in ("format", "format_map"):
            return _format_size(owner, said)
        if name == "join":
            items = said[0] if said and isinstance(said[0], Collection) else ()
            return sum(map(measure, items)) + len(owner) * len(items)
        if name == "replace":
            return _replaced_size(owner, *[*said, "", ""][:2])
        return size + len(owner) * (_PIECES if "split" in name or name == "title" else 3)
    return size + (measure(owner, 1) if isinstance(owner, list | tuple | dict) else 0)
