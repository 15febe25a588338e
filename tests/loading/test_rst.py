"""reStructuredText as docutils reads it, and as Sphinx's documents are written."""

from pathlib import Path

import pytest

from retrivex.chunking import MarkdownChunker
from retrivex.errors import LoadError
from retrivex.loading import load_documents, load_file
from retrivex.loading.limits import LoadLimits

pytest.importorskip("docutils")

PAGE = """\
.. _install:

=====
Pumps
=====

See :ref:`the guide <guide>`, :func:`pump.run` and ``sleep(5)``.

Install
-------

.. code-block:: python
   :linenos:
   :caption: Start it

   # no heading
   pump.run()

Then::

    fill --slow

.. toctree::
   :maxdepth: 2

   other

.. deprecated:: 2.0

   Use :meth:`stop` instead.

.. tab:: Linux

   - unpack

     - look

+--------+--------+
| Region | City   |
+========+========+
| North  | Kiel   |
|        +--------+
|        | Bremen |
+--------+--------+

.. comment: nobody reads this

.. include:: /etc/passwd

Drain : noun
  Empty it.
"""


def test_a_page_of_documentation(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text(PAGE)
    documents, report = load_documents(tmp_path)
    document = documents[0]
    assert document.text.split("\n\n") == [
        "# Pumps",
        "See the guide, pump.run and `sleep(5)`.",
        "## Install",
        "```python\n# no heading\npump.run()\n```",
        "Then:",
        "```\nfill --slow\n```",
        "Deprecated since version 2.0",
        "Use stop instead.",
        "Linux",
        "- unpack\n  - look",
        "| Region | City |\n| --- | --- |\n| North | Kiel |\n| North | Bremen |",
        "Drain : noun",
        "Empty it.\n",
    ]
    assert document.title == "Pumps"
    assert [note.reason for note in report.notes] == ["directives left out: toctree (1), include (1)"]
    assert [c.metadata.heading_path for c in MarkdownChunker(500).chunk(document)] == [("Pumps",), ("Pumps", "Install")]


def test_a_single_section_is_a_heading_and_no_subtitle(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text("Pumps\n=====\n\nQuiet\n-----\n\nThey hum.\n")
    assert load_file(tmp_path / "a.rst")[0].text == "# Pumps\n\n## Quiet\n\nThey hum.\n"


def test_broken_markup_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text("Pumps\n==\n\n*open ``code |x| `role\n\n* a\nb\n")
    text = load_file(tmp_path / "a.rst")[0].text
    assert "*open" in text
    assert "b" in text
    assert "Unexpected" not in text


def test_deleted_text_is_not_shown(tmp_path: Path) -> None:
    struck = ".. role:: gone\n   :class: strike\n\nPress the :gone:`red` :del:`blue` green button.\n"
    (tmp_path / "a.rst").write_text(f"{struck}\n.. include:: b.rst\n")
    documents, report = load_documents(tmp_path)
    assert documents[0].text.split() == ["Press", "the", "green", "button."]
    reasons = [note.reason for note in report.notes]
    assert reasons == ["left out: 2 struck-out parts", "directives left out: include (1)"]


def test_no_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret words")
    secret = tmp_path / "secret.txt"
    page = (
        f"Read:\n\n.. include:: {secret}\n\n.. csv-table::\n   :file: {secret}\n\n.. raw:: html\n   :file: {secret}\n"
    )
    (tmp_path / "a.rst").write_text(page)
    (tmp_path / "docutils.conf").write_text("[general]\nfile_insertion_enabled: yes\n")
    assert load_file(tmp_path / "a.rst")[0].text == "Read:\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\n \n", "it is empty"),
        (b".. only a comment\n", "it is empty: it holds only comments"),
        (b"\0\1\2", "it is not text"),
        # one line that would become a thousand million letters
        (
            b".. |a| replace:: "
            + b"bees " * 200
            + b"\n"
            + b"".join(b".. |%c| replace:: %s\n" % (98 + n, b"|%c| " % (97 + n) * 10) for n in range(8))
            + b"\n|i|\n",
            "characters|memory|longer than",
        ),
    ],
)
def test_what_has_no_text_or_too_much_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.rst").write_bytes(content)
    with pytest.raises(LoadError, match=reason):
        load_file(tmp_path / "a.rst", limits=LoadLimits(timeout_s=20, memory_bytes=100 * 1024**2))
