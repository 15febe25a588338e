"""`retrivex mcp`: gives a folder or a database to Claude, Cursor, VS Code and other clients of the protocol."""

from __future__ import annotations

import shutil
import sys
from contextlib import redirect_stdout
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from retrivex.cli.options import DEFAULT_DATABASE, Embed, Scopes, find_tokenizer, make_scope
from retrivex.cli.serve import IndexedInto, Served, StartConfig, choose_database, index_folder
from retrivex.cli.terminal import dump_json, note, write_text
from retrivex.config import RetrievalConfig
from retrivex.encoders.encoder import folder_of, in_folder
from retrivex.model.chunk import allowed_scopes
from retrivex.service.access import Access
from retrivex.service.bodies import DEFAULT_INDEX
from retrivex.service.engine import Engine
from retrivex.service.index import Index


class Client(StrEnum):
    """Programs whose configuration is printed."""

    CLAUDE = "claude"
    CURSOR = "cursor"
    VSCODE = "vscode"


_FILES = {
    Client.CLAUDE: "Settings > Developer > Edit Config of Claude Desktop, or .mcp.json of a project of Claude Code",
    Client.CURSOR: "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
    Client.VSCODE: ".vscode/mcp.json of a project, or MCP: Open User Configuration",
}


def mcp(
    what: Served = None,
    db: IndexedInto = None,
    scope: Scopes = None,
    config: StartConfig = None,
    embed: Embed = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print what a client wants to know, instead of serving.")
    ] = False,
    client: Annotated[Client | None, typer.Option("--client", help="For --print-config; claude unless given.")] = None,
) -> None:
    """Serve an index to a program that speaks the Model Context Protocol, over standard input and output.

    The program starts this command itself. It gets two tools, search and open, and documents as resources.
    It can only read. `retrivex serve` offers the same over HTTP, at /mcp.

    \b
    Examples:
      retrivex mcp docs/
      retrivex mcp handbook.db --scope acme
      retrivex mcp docs/ --print-config
      retrivex mcp docs/ --print-config --client vscode
    """
    if client is not None and not print_config:
        raise typer.BadParameter(f"--client {client} says what --print-config prints: give both, or neither")
    if print_config:
        _print_config(client or Client.CLAUDE, _arguments(what, db, scope, config, embed))
        return
    stdio = import_module("retrivex.service.mcp.stdio")  # which says how it is installed where it is not
    # standard output belongs to the protocol, from the first byte on
    with redirect_stdout(sys.stderr):
        path = choose_database(what, db) or DEFAULT_DATABASE
        index_folder(what, path, embed)
        engine = _open(path, config, embed)
    note(f"serving {path} over standard input and output, for a program that speaks the Model Context Protocol")
    try:
        stdio.serve_stdio(engine, Access(None, allowed_scopes(make_scope(scope)) if scope else None))
    finally:
        engine.close()


def _open(path: Path, config: Path | None, embed: str | None) -> Engine:
    options = RetrievalConfig() if config is None else RetrievalConfig.from_file(config)
    tokenizer = find_tokenizer(options.tokenizer)
    index = Index(DEFAULT_INDEX, path, tokenizer, embed=embed, read_only=True)
    return Engine([index], options, tokenizer=tokenizer)


def _arguments(
    what: Path | None, db: Path | None, scope: list[str] | None, config: Path | None, embed: str | None
) -> list[str]:
    """Return the arguments of this run, with whole paths: a client starts the command in a folder of its own."""
    choose_database(what, db)  # which says what does not go together
    made = ["mcp"]
    if what is not None:
        made.append(str(what.absolute()))
    if db is not None or what is None or what.is_dir():
        made += ["--db", str((db or DEFAULT_DATABASE).absolute())]
    for name in scope or ():
        made += ["--scope", name]
    if config is not None:
        made += ["--config", str(config.absolute())]
    if embed is not None:
        folder = folder_of(embed)
        made += ["--embed", embed if folder is None else in_folder(embed, folder)]
    return made


def _command() -> list[str]:
    """Return the whole path of this command, and what stands in front of its arguments."""
    beside = shutil.which("retrivex", path=str(Path(sys.executable).parent))
    return [beside] if beside is not None else [sys.executable, "-m", "retrivex"]


def _print_config(client: Client, arguments: list[str]) -> None:
    command, *first = _command()
    server: dict[str, Any] = {"command": command, "args": [*first, *arguments]}
    if client is Client.VSCODE:
        block = {"servers": {"retrivex": {"type": "stdio", **server}}}
    else:
        block = {"mcpServers": {"retrivex": server}}
    write_text(dump_json(block, indent=2))
    note(f"goes into {_FILES[client]}")
