"""`retrivex serve`: answers questions to a folder or a database over HTTP."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from retrivex.cli.index import index
from retrivex.cli.options import Embed
from retrivex.cli.terminal import note, write_text
from retrivex.errors import LoadError

Served: TypeAlias = Annotated[
    Path | None, typer.Argument(metavar="[FOLDER_OR_DATABASE]", help="A folder, which is indexed first, or a database.")
]
IndexedInto: TypeAlias = Annotated[
    Path | None,
    typer.Option("--db", metavar="FILE", envvar="RETRIVEX_DB", help="The database; a folder is indexed into it."),
]
StartConfig: TypeAlias = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Options of the composer to start from.")
]


def serve(
    what: Served = None,
    db: IndexedInto = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on; 127.0.0.1 unless given.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port; 8080 unless given, 0 takes a free one.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, metavar="N", help="Processes.")] = None,
    keys: Annotated[
        Path | None, typer.Option("--keys", metavar="FILE", help="Keys of `retrivex keys`; needed beyond this machine.")
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option("--settings", metavar="FILE", help="Settings as TOML; docs/howto/service_settings.md lists them."),
    ] = None,
    config: StartConfig = None,
    embed: Embed = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Neither add nor delete documents.")] = False,
) -> None:
    """Serve an index over HTTP: compose, query, documents, citations; /openapi.json describes all of it.

    Without keys, only this machine can reach it.

    \b
    Examples:
      retrivex serve docs/
      retrivex serve --db handbook.db --port 9000
      retrivex keys create shop --scope acme
      retrivex serve --db handbook.db --host 0.0.0.0 --workers 4
    """
    if settings is not None:
        os.environ["RETRIVEX_SETTINGS"] = str(settings)
    server = import_module("retrivex.service.server")  # which says how it is installed where it is not
    import_module("retrivex.service.app")
    path = choose_database(what, db)
    given: dict[str, Any] = {"db": path, "host": host, "port": port, "workers": workers, "keys": keys}
    made = import_module("retrivex.service.settings").read_settings(
        **given, config=config, embed=embed, read_only=read_only or None
    )
    index_folder(what, made.db, made.embed)
    with server.bind(made) as door:
        address, number = door.getsockname()[:2]
        guarded = server.check_exposure(made)
        if not guarded:
            note("no keys: only this machine can reach the service; `retrivex keys create` makes one")
        shown = f"[{address}]" if ":" in address else address

        def announce() -> None:
            write_text(f"serving {made.db} on http://{shown}:{number}")
            typer.get_text_stream("stdout").flush()

        server.run_server(made, door, announce)


def choose_database(what: Path | None, db: Path | None) -> Path | None:
    """Return the database that a command line names; None where it names none, or a folder alone."""
    if what is None or what.is_dir():
        return db
    if not what.exists():
        raise LoadError(f"{what} does not exist: name a folder of documents, or a database of `retrivex index`")
    if db is not None:
        raise typer.BadParameter(f"{what} and --db {db} are two databases: give one of them")
    return what


def index_folder(what: Path | None, database: Path, embed: str | None) -> None:
    """Bring a database up to date with a folder, where that is what is served."""
    if what is not None and what.is_dir():
        index(paths=[what], db=database, embed=embed)
