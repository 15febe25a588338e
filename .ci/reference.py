"""Write what the program says of itself into the pages of the reference, between `<!-- name -->` and `<!-- /name -->`.

Run: `python .ci/reference.py`; a part is left as it is where its extra is missing. Tests of the command line and of the
service fail where a page says something else.
"""

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import typer

from retrivex.cli.application import app
from retrivex.cli.commands import NAMES

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "reference"
ADDRESS = "http://127.0.0.1:8080"
METHODS = ("get", "post", "delete")
TEXT = "Bees live in hives. A hive has one queen.\n"
TRACE = "Composition_trace"
TYPES = {"str": "TEXT", "int": "N", "int range": "N"}
SHORT = 700  # characters of an answer that is shown


def fill(page: str, name: str, content: str) -> str:
    """Return a page with what stands between two marks."""
    marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    filled, count = marked.subn(lambda found: f"{found[1]}\n{content.strip()}\n\n{found[2]}", page)
    if count != 1:
        raise ValueError(f"the page has {count} parts {name!r}: mark one")
    return filled


def in_cell(text: str) -> str:
    """Return a text as it stands in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


# ---- the command line


def list_commands() -> Iterator[tuple[str, Any]]:
    """Yield each command by its words, groups before what they hold."""
    group = typer.main.get_command(app)
    context = typer.Context(group, info_name="retrivex")
    yield "retrivex", group
    for name in NAMES:
        command = group.get_command(context, name)
        yield f"retrivex {name}", command
        for inner, each in getattr(command, "commands", {}).items():
            yield f"retrivex {name} {inner}", each


def list_rows(path: str, command: Any) -> Iterator[tuple[str, str]]:
    """Yield heading and row of each argument and option, as the help has them."""
    context = typer.Context(command, info_name=path)
    for parameter in command.params:
        name, said = parameter.get_help_record(context)
        text, extras = re.fullmatch(r"(.*?)(?:  \[(.*)\])?", said, re.DOTALL).groups()
        more = dict(re.findall(r"(env var|default): (.*?)(?=; env var|; default|; x|; \d|; required|$)", extras or ""))
        bounds = re.search(r"(?:(-?[\d.]+)<=)?x(?:>=(-?[\d.]+))?(?:<=(-?[\d.]+))?", extras or "")
        default = f"`{more['default'].strip('()')}`" if more.get("default") else ""
        default = "required" if parameter.required else default
        if more.get("env var"):
            default += f"{', or ' if default else ''}`{more['env var']}`"
        if bounds and any(bounds.groups()):
            low, high = bounds[1] or bounds[2], bounds[3]
            text += f" {low} {f'to {high}' if high else 'or more'}." if low else f" At most {high}."
        name, _, kind = name.rstrip(">").partition(" <")  # where it has no metavar: its type, or what it is one of
        if "|" in kind:
            text += f" One of: {', '.join(kind.split('|'))}."
        if kind and name.startswith("-"):
            name += " NAME" if "|" in kind else f" {TYPES.get(kind, kind.upper())}"
        shown = name.replace("|", " or ")
        yield parameter.rich_help_panel or "", f"| `{shown}` | {default} | {in_cell(text)} |"


def write_rows(rows: Iterable[str]) -> str:
    """Return a table of options."""
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])


def write_help(text: str) -> str:
    """Return the help of a command: its paragraphs, its examples as commands of a shell."""
    made = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        title, _, lines = paragraph.removeprefix("\b\n").partition("\n")
        if not paragraph.startswith("\b"):
            made.append(" ".join(paragraph.split()).replace("<", "&lt;"))
            continue
        lines = dedent(lines)
        if title == "Examples:":
            lines = re.sub(r"(?<=\S) +", " ", lines)
            made.append(f"*Needs files of your own.*\n\n```bash\n{lines}\n```")
        else:
            made.append(f"{title}\n\n```text\n{lines}\n```")
    return "\n\n".join(made)


def write_commands() -> str:
    """Return a section for each command, and one for each kind of options that several of them share."""
    commands = dict(list_commands())
    rows = {path: list(list_rows(path, command)) for path, command in commands.items()}
    counts = Counter(row for own in rows.values() for row in own if row[0])
    shared = [row for row, count in counts.items() if count > 1]
    made = []
    for path, command in commands.items():
        usage = command.get_usage(typer.Context(command, info_name=path)).removeprefix("Usage: ")
        usage = re.sub(r"\{([^}]*)\}(?:\.\.\.)?", r"\1", " ".join(usage.split())).replace("[[", "[").replace("]]", "]")
        own = [row for panel, row in rows[path] if (panel, row) not in shared]
        also = list(dict.fromkeys(panel for panel, row in rows[path] if (panel, row) in shared))
        head, *rest = write_help(command.help).split("\n\n*Needs ", 1)
        made += [f"## {path}", head, f"`{usage}`"]
        made += [write_rows(own)] if own else []
        made += [f"More: {', '.join(f'[{panel.lower()}](#{slug(panel)})' for panel in also)}."] if also else []
        made += [f"*Needs {part}" for part in rest]
    for panel in dict.fromkeys(panel for panel, _ in shared):
        using = [path for path, own in rows.items() if any(row in shared for row in own if row[0] == panel)]
        made += [f"## {panel}", f"Of {', '.join(f'[`{path}`](#{slug(path)})' for path in using)}."]
        made.append(write_rows(row for found, row in shared if found == panel))
    return "\n\n".join(made)


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


# ---- the HTTP service


@contextmanager
def serve() -> Iterator[Any]:
    """Yield a client of a service over the file of the page."""
    from starlette.testclient import TestClient  # noqa: PLC0415 - the extra serve alone has it

    from retrivex.service.app import create_app  # noqa: PLC0415
    from retrivex.service.settings import Settings  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "options.toml").write_text('tokenizer = "estimate"\n', encoding="utf-8")
        given = {"db": folder / "index.db", "keys": folder / "keys.db", "config": folder / "options.toml"}
        app = create_app(Settings(**given, embed="hashing"))
        with TestClient(app, base_url="http://localhost") as client:
            client.post("/v1/documents", files={"file": ("bees.md", TEXT.encode())}).raise_for_status()
            yield client


def kinds_of(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a value may be, in words."""
    given = schema.get("type", "anything")
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield f"[{name}](#{slug(name)})" if name != TRACE else "object"
    elif "const" in schema:
        yield f"`{json.dumps(schema['const'])}`"
    elif "enum" in schema:
        yield ", ".join(f"`{value}`" for value in schema["enum"])
    elif "anyOf" in schema or "oneOf" in schema:
        for each in schema.get("anyOf") or schema["oneOf"]:
            yield from kinds_of(each)
    elif isinstance(given, list):
        for one in given:
            yield from kinds_of({**schema, "type": one})
    elif given == "array":
        items = list(dict.fromkeys(kinds_of(schema.get("items") or {})))
        yield (
            "list"
            if items == ["anything"]
            else " or ".join(items).join(("list of (", ")") if items[1:] else ("list of ", ""))
        )
    elif given in ("integer", "number") and "minimum" in schema:
        high = schema.get("maximum")
        range_ = f"{schema['minimum']:g} {'or more' if high is None else f'to {high:,}'}"
        yield f"{'whole number' if given == 'integer' else given}, {range_}"
    elif given == "string":
        yield "file" if schema.get("format") == "binary" else f"text{', not empty' * bool(schema.get('minLength'))}"
    else:
        yield {"integer": "whole number", "boolean": "true or false"}.get(given, given)


def kind_of(schema: Mapping[str, Any]) -> str:
    """Return what a value is, in words."""
    found = dict.fromkeys(kinds_of(schema))
    null = "; or null" if len(found) > 1 and "null" in found else ""
    return " or ".join(kind for kind in found if kind != "null" or not null) + null


def describe(schema: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return what an object is, and what its docstring says of its fields."""
    text, _, parameters = schema.get("description", "").partition("\n\nParameters\n----------\n")
    fields: dict[str, str] = {}
    for names, said in re.findall(r"^(\S[^:\n]*) : (.*(?:\n\s+.*)*)", parameters, re.MULTILINE):
        fields |= dict.fromkeys(names.split(", "), said)
    return text, fields


def write_fields(schema: Mapping[str, Any], *, answer: bool = False) -> str:
    """Return a table of the fields of an object: of an answer, or of what is sent, with defaults."""
    rows = (
        ["| field | is | meaning |", "|---|---|---|"]
        if answer
        else ["| field | is | default | meaning |", "|---|---|---|---|"]
    )
    _, documented = describe(schema)
    for name, field in schema["properties"].items():
        default = f"`{json.dumps(field['default'])}`" if "default" in field else ""
        needed = name in schema.get("required", ())
        meaning = in_cell(field.get("description") or documented.get(name, ""))
        kind = in_cell(kind_of(field)) + "; may be missing" * (answer and not needed)
        sent = "" if answer else f"{'required' if needed else default} | "
        rows.append(f"| `{name}` | {kind} | {sent}{meaning} |")
    return "\n".join(rows)


def write_object(value: Mapping[str, Any]) -> str:
    """Return JSON with a line for each key."""
    return "{\n  " + ",\n  ".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in value.items()) + "}"


def rounded(value: Any) -> Any:
    """Return JSON with two digits behind the point."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 2) if isinstance(value, float) else value


def write_call(path: str, method: str, operation: Mapping[str, Any], client: Any) -> Iterator[str]:
    """Yield the command that asks an operation for its example, and what comes back where that is short."""
    path = path.replace("{vector_store_id}", "default")
    content = operation.get("requestBody", {}).get("content", {})
    sent: dict[str, Any] = {}
    call = f"curl -s {ADDRESS}{path}"
    if "multipart/form-data" in content:
        sent = {"files": {"file": ("bees.md", TEXT.encode())}}
        call += " -F file=@bees/bees.md"
    elif content:
        example = content["application/json"]["examples"]["short"]["value"]
        sent = {"json": example}
        call += f" -H 'Content-Type: application/json' -d '{write_object(example)}'"
    elif method == "delete":
        path += "?doc_id=bees.md"
        call = f"curl -s -X DELETE '{ADDRESS}{path}'"
    yield f"*Needs a running service.*\n\n```bash\n{call}\n```"
    answer = client.request(method, path, **sent)
    answer.raise_for_status()
    media_type = answer.headers["content-type"].partition(";")[0]
    if media_type == "application/json":
        shown = rounded(answer.json())
        text = write_object(shown) if isinstance(shown, dict) else json.dumps(shown)
        if len(text) <= SHORT:
            yield f"The answer:\n\n```json\n{text}\n```"
    else:
        yield f"The answer is `{media_type}`."


def write_operation(
    path: str, method: str, operation: Mapping[str, Any], schemas: Mapping[str, Any], seen: dict[str, str]
) -> Iterator[str]:
    """Yield the parts of the section of an operation; fields that an earlier one has are told there."""
    heading = f"{method.upper()} {path}"
    summary = operation["summary"]
    yield f"## {heading}"
    yield summary if summary.endswith("?") else f"{summary}."
    parameters = operation.get("parameters", ())
    if parameters:
        fields = {one["name"]: {**one["schema"], "description": one.get("description", "")} for one in parameters}
        yield "In the address:"
        yield write_fields({"properties": fields, "required": [one["name"] for one in parameters if one["required"]]})
    for media_type, body in operation.get("requestBody", {}).get("content", {}).items():
        name = body["schema"].get("$ref", "").rpartition("/")[2]
        if name in seen:
            yield f"It takes what [{seen[name]}](#{slug(seen[name])}) takes."
            continue
        seen[name] = heading
        yield f"As `{media_type}`:"
        yield write_fields(schemas[name] if name else body["schema"])
    schema = next(each["schema"] for each in operation["responses"]["200"]["content"].values() if each["schema"])
    if "properties" in schema:
        yield "It answers with an object:"
        yield write_fields(schema, answer=True)
    elif "$ref" in schema:
        yield f"It answers with a {kind_of(schema)}."


def list_names(value: Any, schemas: Mapping[str, Any], found: dict[str, None]) -> None:
    """Add the names of the schemas that a value refers to, in their order, and of those that these refer to."""
    for name in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(value)):
        if name not in found and name != TRACE:
            found[name] = None
            list_names(schemas[name], schemas, found)


def write_operations() -> str:
    """Return a section for each operation, and one for each object that requests and answers hold."""
    made: list[str] = []
    bodies: dict[str, str] = {}
    asked: dict[str, None] = {}
    names: dict[str, None] = {}
    with serve() as client:
        document = client.get("/openapi.json").json()
        schemas = document["components"]["schemas"]
        for path, methods in document["paths"].items():
            for method in METHODS:
                if method in methods and not path.endswith("/batch"):
                    made += write_operation(path, method, methods[method], schemas, bodies)
                    made += write_call(path, method, methods[method], client)
                    list_names(methods[method].get("requestBody"), schemas, asked)
                    list_names(methods[method], schemas, names)
    made.append("## Objects")
    for name in names:
        if name not in bodies:
            text, _ = describe(schemas[name])
            made += [
                f"### {name}",
                *([f"{in_cell(text).rstrip('.')}."] if text else []),
                write_fields(schemas[name], answer=name not in asked),
            ]
    return "\n\n".join(made)


PARTS: dict[str, tuple[Path, Callable[[], str]]] = {
    "commands": (PAGES / "cli.md", write_commands),
    "operations": (PAGES / "http.md", write_operations),
}


def made_anew(name: str) -> tuple[str, str]:
    """Return a page as it is, and as it is to be."""
    path, write = PARTS[name]
    page = path.read_text(encoding="utf-8")
    return page, fill(page, name, write())


if __name__ == "__main__":
    for part in PARTS:
        try:
            _, made = made_anew(part)
        except ImportError as error:
            print(f"{part}: {error}", file=sys.stderr)  # noqa: T201
            continue
        PARTS[part][0].write_text(made, encoding="utf-8")
