"""Reads whole folders: every file that can be read, and a report of those that cannot."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from retrivex.errors import LoadError
from retrivex.loading.files import MAX_BYTES, is_supported, load_parts, names_documents
from retrivex.loading.report import LoadProblem, LoadReport
from retrivex.model.document import Document

SKIPPED_FOLDERS = frozenset({"CVS", "__pycache__", "node_modules"})
"""Folders that are passed over without a word, like every name that begins with a dot."""

_AnyPath = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to be read.

    Parameters
    ----------
    path : where it lies
    folder : where its name counts from: the folder given, or the one a single file lies in
    doc_id : what its document will be called
    """

    path: Path
    folder: Path
    doc_id: str


def load_documents(
    paths: Iterable[_AnyPath] | _AnyPath,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
) -> tuple[list[Document], LoadReport]:
    """Read files and folders into a list; `iter_documents` says how, and does it one document at a time.

    Returns
    -------
    documents : in the order of `paths`, sorted by name within a folder
    report : what was skipped, and why
    """
    report = LoadReport()
    documents = list(iter_documents(paths, report, include=include, exclude=exclude, max_bytes=max_bytes))
    return documents, report


def iter_documents(
    paths: Iterable[_AnyPath] | _AnyPath,
    report: LoadReport,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
    on_file: Callable[[Path], None] | None = None,
) -> Iterator[Document]:
    """Read files and folders, one document at a time; what cannot be read goes into `report` and the rest goes on.

    Parameters
    ----------
    paths : files and folders. A document is named by its path relative to the folder given, with `/` on every
        system; a single file by its name. Where two of them would have the same name, the names of their folders
        are put in front
    report : filled as the documents are taken
    include : only files that match one of these patterns (`*.md`, `guide/*`), against name or relative path. Files
        with an ending nobody knows are then read as text
    exclude : files and folders that match one of these are passed over
    max_bytes : a larger file (for JSONL: line) is skipped
    on_file : called with each file before it is read

    Notes
    -----
    Files of a folder whose ending is not one of `SUPPORTED_SUFFIXES` are in `report.passed_over`.
    Names beginning with a dot and `SKIPPED_FOLDERS` are passed over. Links to folders are not followed, links to
    files only where they stay inside the folder given. A document whose `doc_id` has been seen is reported, not
    given twice.
    """
    seen: set[str] = set()
    files = find_files(paths, report, include=include, exclude=exclude)
    # a line of JSONL names itself: it must not take the name that another file has by where it lies
    files_by_name = {found.doc_id: found.path for found in files if not names_documents(found.path)}
    for found in files:
        if on_file is not None:
            on_file(found.path)
        for loaded in load_parts(found.path, found.doc_id, max_bytes=max_bytes):
            if isinstance(loaded, LoadError):
                report.problems.append(_problem(found.path, str(loaded)))
                continue
            document = loaded.document
            if document.doc_id in seen or files_by_name.get(document.doc_id, found.path) != found.path:
                reason = f"doc_id {document.doc_id!r} was used before: it must be unique; rename one of the two"
                report.problems.append(_problem(found.path, reason))
                continue
            seen.add(document.doc_id)
            report.notes.extend(_problem(found.path, note) for note in loaded.notes)
            report.loaded += 1
            yield document


def find_files(
    paths: Iterable[_AnyPath] | _AnyPath,
    report: LoadReport,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> list[FoundFile]:
    """List the files that `iter_documents` would read, without opening any; parameters as there."""
    candidates: list[FoundFile] = []
    for root in [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]:
        if os.path.isdir(root):
            candidates.extend(
                FoundFile(path, root, name)
                for path, name in _walk(root, report, tuple(exclude), root)
                if _is_wanted(path, name, include, report)
            )
        else:
            # missing files go on, too: reading them gives the reason
            candidates.append(FoundFile(root, root.parent, root.name))
    kept = [file for file in _drop_repeated(candidates) if _can_be_named(file, report)]
    return [replace(file, doc_id=doc_id) for file, doc_id in zip(kept, _doc_ids(kept), strict=True)]


def _problem(path: Path, reason: str) -> LoadProblem:
    return LoadProblem(_printable(path), reason)


def _printable(path: Path) -> str:
    # A name that is not text is shown escaped, so that a report can always be printed.
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def _is_wanted(path: Path, name: str, include: Sequence[str], report: LoadReport) -> bool:
    """Whether a file of a folder is to be read: one of a known kind, or whatever the patterns name."""
    if include:
        return _matches(name, include)
    if not is_supported(path):
        report.passed_over.append(_printable(path))
        return False
    return True


def _matches(name: str, patterns: Sequence[str]) -> bool:
    base = name.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) or fnmatchcase(base, pattern) for pattern in patterns)


def _walk(
    folder: Path, report: LoadReport, exclude: tuple[str, ...], root: Path, prefix: str = ""
) -> Iterator[tuple[Path, str]]:
    """Give the files of a folder with their names relative to `root`, in sorted order."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        report.problems.append(_problem(folder, f"the folder cannot be read: {error.strerror or error}"))
        return
    for entry in entries:
        path, name = folder / entry.name, prefix + entry.name
        if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS or _matches(name, exclude):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path, report, exclude, root, f"{name}/")
        elif not entry.is_symlink() or _is_inside(path, root, report):
            yield path, name


def _is_inside(link: Path, root: Path, report: LoadReport) -> bool:
    """Whether a link leads to a file inside `root`; reported where not."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before Python 3.13
        reason = f"the link leads nowhere: {getattr(error, 'strerror', None) or 'it goes in a circle'}"
    else:
        if os.path.isfile(target) and target.is_relative_to(root.resolve()):
            return True
        reason = "the link leads to a folder, or out of the folder given; give what it leads to itself"
    report.problems.append(_problem(link, reason))
    return False


def _drop_repeated(files: Sequence[FoundFile]) -> list[FoundFile]:
    """Leave out files that come a second time, through overlapping folders or links; the file goes before its links."""
    first: dict[str, int] = {}
    for index in sorted(range(len(files)), key=lambda i: os.path.islink(files[i].path)):
        first.setdefault(os.path.realpath(files[index].path), index)
    return [files[index] for index in sorted(first.values())]


def _can_be_named(file: FoundFile, report: LoadReport) -> bool:
    try:
        file.doc_id.encode("utf-8")
    except UnicodeEncodeError:
        reason = "its name is not valid UTF-8, so it cannot name a document; rename it"
        report.problems.append(_problem(file.path, reason))
        return False
    return True


def _doc_ids(files: Sequence[FoundFile]) -> list[str]:
    """Names of the files; where some are the same, with the folders in front that tell them apart."""
    counts = Counter(file.doc_id for file in files)
    clashing = [file.folder.resolve() for file in files if counts[file.doc_id] > 1]
    common = os.path.commonpath(clashing) if clashing else ""
    return [
        file.doc_id
        if counts[file.doc_id] == 1
        else (file.folder.resolve().relative_to(common) / file.doc_id).as_posix()
        for file in files
    ]
