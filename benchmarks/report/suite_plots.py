"""Writes plots into a folder with a list of them, by which the plots of an earlier report are found and removed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from retrivex.errors import LoadError


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot of a report.

    Parameters
    ----------
    section : title of the section that it belongs to
    file : name, unique in the folder
    shows : what it shows, in words
    data : of the file
    """

    section: str
    file: str
    shows: str
    data: bytes


def write_plots(plots: Sequence[Plot], folder: Path, *, name: str = "report") -> None:
    """Write plots, and take away what was written under the same name before and is no longer among them.

    The list NAME.json holds the hash of each file. Of an earlier list only files are taken away whose hash is the one
    that was noted: whatever else lies in the folder, or was changed since, stays.

    Parameters
    ----------
    plots : of a report; none leave nothing behind, and no list
    folder : where they go; made if it is not there
    name : of the list, where several reports share a folder

    Raises
    ------
    LoadError
        If the earlier list cannot be read.
    """
    listed = folder / f"{name}.json"
    kept = {plot.file for plot in plots}
    for file, noted in _read_noted(listed).items():
        path = folder / file
        if file not in kept and path.is_file() and _hash(path.read_bytes()) == noted:
            path.unlink()
    if not plots:
        listed.unlink(missing_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    entry = [
        {"section": plot.section, "file": plot.file, "shows": plot.shows, "sha256": _hash(plot.data)} for plot in plots
    ]
    # the list first, so that a stop on the way leaves no file that is not in it
    replace_file(listed, (json.dumps(entry, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))
    for plot in plots:
        replace_file(folder / plot.file, plot.data)


def listed_plots(folder: Path, *, name: str = "report") -> dict[str, list[tuple[str, str]]]:
    """Return the plots of a list: title of a section -> files and what they show; empty where there is no list."""
    found: dict[str, list[tuple[str, str]]] = {}
    for entry in _read_listed(folder / f"{name}.json"):
        found.setdefault(entry["section"], []).append((entry["file"], entry["shows"]))
    return found


def replace_file(path: Path, data: bytes) -> None:
    """Write a file; it is whole or as it was before."""
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_bytes(data)
    unfinished.replace(path)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_noted(listed: Path) -> Mapping[str, str]:
    # no path that leads out of the folder, whoever wrote the list
    return {
        entry["file"]: entry["sha256"] for entry in _read_listed(listed) if Path(entry["file"]).name == entry["file"]
    }


def _read_listed(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return [{key: str(entry[key]) for key in ("section", "file", "shows", "sha256")} for entry in found]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise LoadError(
            f"{path} is no list of plots ({error}): remove it, and the plots beside it that are not yours"
        ) from error
