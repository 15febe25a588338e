"""`retrivex keys`: makes, lists and revokes the bearer keys of the service."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from retrivex.cli.options import AsJson
from retrivex.cli.terminal import note, one_line, write_json, write_text
from retrivex.service.keys import KeyInfo, Keys


class Action(StrEnum):
    """What is done with keys."""

    CREATE = "create"
    LIST = "list"
    REVOKE = "revoke"


def keys(
    action: Annotated[Action, typer.Argument(metavar="ACTION", help="create NAME, list, or revoke ID.")],
    name: Annotated[str | None, typer.Argument(metavar="[NAME|ID]", help="Whose key it is; or its id.")] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", metavar="NAME", help="What it may see, unscoped if left out; '' is unscoped; repeatable."
        ),
    ] = None,
    path: Annotated[
        Path, typer.Option("--keys", metavar="FILE", envvar="RETRIVEX_KEYS", help="The file of keys.")
    ] = Path("retrivex-keys.db"),
    as_json: AsJson = False,
) -> None:
    """Make, list and revoke the keys that requests to `retrivex serve` bring.

    A key is shown once, when it is made: the file keeps its hash. From the first key on, every request needs one.

    \b
    Examples:
      retrivex keys create shop --scope acme
      retrivex keys list
      retrivex keys revoke 3f9a1c20b7de
    """
    if action is not Action.CREATE and scope:
        raise typer.BadParameter(f"--scope belongs to create: keys {action} takes none")
    if action is not Action.LIST and not name:
        raise typer.BadParameter(f"keys {action} needs a name, as in `retrivex keys create shop`, or the id of a key")
    kept = Keys(path)
    if action is Action.CREATE:
        info, secret = kept.create(str(name), [one or None for one in scope] if scope else (None,))
        note(f"this key is shown once; its id is {info.id}")
        write_json({**asdict(info), "key": secret}) if as_json else write_text(secret)
    elif action is Action.REVOKE:
        kept.revoke(str(name))
        write_json({"revoked": name}) if as_json else write_text(f"revoked {name}")
    else:
        found = kept.list_all()
        write_json([asdict(info) for info in found]) if as_json else write_text("\n".join(map(_line, found)))


def _line(info: KeyInfo) -> str:
    scopes = ", ".join("(unscoped)" if scope is None else one_line(scope) for scope in info.scopes)
    made = datetime.fromtimestamp(info.created, UTC).strftime("%Y-%m-%d")
    state = "revoked" if info.revoked is not None else "good"
    return f"{info.id}  {state:7}  {made}  {one_line(info.name)}: {scopes}"
