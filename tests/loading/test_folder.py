import os
from pathlib import Path

import pytest
from fpdf import FPDF

from retrivex.errors import LoadError
from retrivex.loading import LoadReport, find_files, iter_documents, load_documents, load_file
from retrivex.model.document import Document

DATA = Path(os.environ.get("RETRIVEX_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
ESSAYS = DATA / "paul_graham_essays"


def write(path: Path, content: str | bytes = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def reasons(report: LoadReport, root: Path) -> dict[str, str]:
    return {Path(p.path).relative_to(root).as_posix(): p.reason for p in report.problems}


def pdf() -> bytes:
    made = FPDF()
    made.set_font("Helvetica", size=12)
    made.add_page()
    made.multi_cell(0, text="A page.")
    return bytes(made.output())


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    root = tmp_path / "mixed"
    write(root / "a.md", "---\ntitle: Bees\n---\n# Sleep\n\ntext")
    write(root / "b.html", "<title>Page</title><h1>Head</h1><p>text")
    write(root / "c.pdf", pdf())
    write(root / "d.txt", "plain")
    write(root / "e.jsonl", '{"id": "line-1", "text": "one"}\n{"id": "line-2", "text": "two"}\n')
    write(root / "README", "no ending")
    write(root / "sub" / "deep" / "F.TXT", "deep")
    write(root / "sub" / "latin.txt", "Caf\xe9 au lait".encode("latin-1"))
    return root


def spoil(root: Path) -> None:
    write(root / "bad.pdf", b"%PDF-1.7 broken")
    write(root / "bad.html", b"<p>nul \0")
    write(root / "binary.txt", bytes(range(256)))
    write(root / "empty.txt", b"")
    write(root / "huge.txt", b"x" * 2001)
    write(root / "old.doc", b"\xd0\xcf\x11\xe0")
    write(root / "program.py", "print()")
    os.mkfifo(root / "pipe.txt")
    (root / "circle.txt").symlink_to(root / "circle.txt")
    (root / "up").symlink_to(root, target_is_directory=True)
    (root / "gone.txt").symlink_to(root / "nowhere.txt")
    (root / "out.txt").symlink_to(write(root.parent / "outside.txt", "secret"))


EXPECTED = {
    "README": "text",
    "a.md": "markdown",
    "b.html": "markdown",
    "c.pdf": "text",
    "d.txt": "text",
    "line-1": "text",
    "line-2": "text",
    "sub/deep/F.TXT": "text",
    "sub/latin.txt": "text",
}


def test_a_mixed_folder_in_sorted_order(mixed: Path) -> None:
    documents, report = load_documents(mixed)
    assert [(d.doc_id, d.format) for d in documents] == list(EXPECTED.items())
    assert report.problems == []
    assert [(Path(n.path).name, n.reason) for n in report.notes] == [
        ("latin.txt", "not UTF-8; read as cp1252: check its accents")
    ]
    assert report.summary() == "9 documents loaded, 0 problems, 1 note"
    by_id = {d.doc_id: d for d in documents}
    assert by_id["a.md"].title == "Bees"
    assert by_id["c.pdf"].page_starts == (0,)
    assert by_id["sub/latin.txt"].metadata["encoding"] == "cp1252"
    assert by_id["sub/deep/F.TXT"].source == str(mixed / "sub" / "deep" / "F.TXT")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes and links")
def test_what_cannot_be_read_is_reported_and_the_rest_goes_on(mixed: Path) -> None:
    spoil(mixed)
    documents, report = load_documents(mixed, max_bytes=2000)
    assert [d.doc_id for d in documents] == list(EXPECTED)
    found = reasons(report, mixed)
    expected = {
        "bad.pdf": "cannot be read as PDF",
        "bad.html": "NUL bytes",
        "binary.txt": "NUL bytes",
        "empty.txt": "it is empty",
        "huge.txt": "it has more than 2,000 bytes, the limit",
        "old.doc": ".doc is an old format that is not read; save it as .docx",
        "pipe.txt": "not a regular file",
        "circle.txt": "the link leads nowhere",
        "up": "the link leads to a folder, or out of the folder given",
        "gone.txt": "the link leads nowhere",
        "out.txt": "the link leads to a folder, or out of the folder given",
    }
    assert found.keys() == expected.keys()
    assert all(part in found[name] for name, part in expected.items())
    assert [Path(path).name for path in report.passed_over] == ["program.py"]
    assert report.summary().endswith("1 file of other kinds (1 .py) passed over")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_forbidden_files_and_folders_are_reported(mixed: Path) -> None:
    (mixed / "d.txt").chmod(0)
    (mixed / "sub").chmod(0)
    documents, report = load_documents(mixed)
    _, alone = load_documents(mixed / "sub" / "latin.txt")
    (mixed / "sub").chmod(0o755)
    assert [d.doc_id for d in documents] == ["README", "a.md", "b.html", "c.pdf", "line-1", "line-2"]
    assert all("Permission denied" in problem.reason for problem in report.problems + alone.problems)
    assert (len(report.problems), len(alone.problems)) == (2, 1)


def test_documents_come_one_at_a_time(tmp_path: Path) -> None:
    write(tmp_path / "a.txt")
    later = write(tmp_path / "b.txt")
    report = LoadReport()
    documents = iter_documents([tmp_path], report)
    assert next(documents).doc_id == "a.txt"
    assert report.loaded == 1
    later.unlink()
    assert list(documents) == []
    assert "No such file" in report.problems[0].reason


def test_hidden_and_tool_folders_are_passed_over(tmp_path: Path) -> None:
    for name in (".git/config.txt", ".hidden.txt", "node_modules/x/readme.md", "CVS/a.txt", "kept/a.txt"):
        write(tmp_path / name)
    documents, report = load_documents(tmp_path)
    assert [d.doc_id for d in documents] == ["kept/a.txt"]
    assert report.problems == []
    hidden, _ = load_documents(tmp_path / ".git")  # but not where they are asked for
    assert [d.doc_id for d in hidden] == ["config.txt"]


def test_include_and_exclude(tmp_path: Path) -> None:
    for name in ("a.md", "b.py", "guide/c.md", "guide/old/d.md", "x.md"):
        write(tmp_path / name)

    def ids(**patterns: list[str]) -> list[str]:
        return [d.doc_id for d in load_documents(tmp_path, **patterns)[0]]  # type: ignore[arg-type]

    assert ids(include=["*.md"]) == ["a.md", "guide/c.md", "guide/old/d.md", "x.md"]
    assert ids(include=["guide/*"], exclude=["old"]) == ["guide/c.md"]
    assert ids(include=["*.py"]) == ["b.py"]  # asked for: read as text
    assert ids(exclude=["guide", "x.*"]) == ["a.md"]


def test_a_link_inside_the_folder_gives_its_file_once(tmp_path: Path) -> None:
    write(tmp_path / "z.txt")
    (tmp_path / "a.txt").symlink_to(tmp_path / "z.txt")
    write(tmp_path / ".data" / "b.txt", "reached by a link alone")
    (tmp_path / "b.txt").symlink_to(tmp_path / ".data" / "b.txt")
    documents, report = load_documents(tmp_path)
    assert [d.doc_id for d in documents] == ["b.txt", "z.txt"]
    assert report.problems == []


def test_single_files_are_named_by_their_name(tmp_path: Path) -> None:
    path = write(tmp_path / "folder" / "settings.conf")
    assert [d.doc_id for d in load_documents(path)[0]] == ["settings.conf"]
    assert [d.doc_id for d in load_documents(str(path))[0]] == ["settings.conf"]


def test_clashing_names_get_their_folders_in_front(tmp_path: Path) -> None:
    for name in ("one/docs/a.md", "two/docs/a.md", "two/docs/b.md", "three/a.md"):
        write(tmp_path / name, name)
    roots = [tmp_path / "one" / "docs", tmp_path / "two" / "docs", tmp_path / "three" / "a.md"]
    documents, report = load_documents(roots)
    assert {d.doc_id: d.text for d in documents} == {
        "one/docs/a.md": "one/docs/a.md",
        "two/docs/a.md": "two/docs/a.md",
        "b.md": "two/docs/b.md",
        "three/a.md": "three/a.md",
    }
    assert report.problems == []


def test_overlapping_folders_give_a_file_once(tmp_path: Path) -> None:
    write(tmp_path / "sub" / "a.txt")
    assert [d.doc_id for d in load_documents([tmp_path, tmp_path / "sub"])[0]] == ["sub/a.txt"]


def test_find_files_opens_nothing(tmp_path: Path) -> None:
    write(tmp_path / "broken.pdf", b"no")
    report = LoadReport()
    assert [f.doc_id for f in find_files(tmp_path, report)] == ["broken.pdf"]
    assert report == LoadReport()


def test_a_missing_path_is_reported(tmp_path: Path) -> None:
    _, report = load_documents([tmp_path / "nowhere", write(tmp_path / "a.txt")])
    assert "cannot be read: No such file" in report.problems[0].reason
    assert report.loaded == 1


def test_a_name_that_is_not_text_is_reported(tmp_path: Path) -> None:
    try:
        with open(os.fsencode(tmp_path) + b"/caf\xe9.txt", "wb") as file:
            file.write(b"text")
    except OSError:
        pytest.skip("this file system has no such names")
    documents, report = load_documents(tmp_path)
    assert documents == []
    assert "not valid UTF-8" in report.problems[0].reason
    str(report.problems[0]).encode("utf-8")


def test_load_file_raises_what_a_folder_reports(tmp_path: Path) -> None:
    assert load_file(write(tmp_path / "x.py", "print()")) == [
        Document("x.py", "print()", source=str(tmp_path / "x.py"))
    ]
    assert load_file(tmp_path / "x.py", doc_id="renamed")[0].doc_id == "renamed"
    with pytest.raises(LoadError, match=r"x\.py: it cannot be read: it has more than 6 bytes, the limit"):
        load_file(tmp_path / "x.py", max_bytes=6)
    with pytest.raises(LoadError, match="not a regular file"):
        load_file(tmp_path)


@pytest.mark.skipif(not ESSAYS.is_dir(), reason="the development data is not here")
def test_real_essays_load_whole() -> None:
    documents, report = load_documents(ESSAYS)
    assert len(documents) == 49
    assert (report.problems, report.notes) == ([], [])
    for document in documents:
        assert document.text.encode() == (ESSAYS / document.doc_id).read_bytes()
    assert len({d.doc_id: d.text for d in documents}["rss.txt"].encode()) == 55
