"""The pictures of the documentation are those that their script draws today."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from benchmarks.report.drawings import FILES, FOLDER


@pytest.mark.parametrize("name", FILES)
def test_the_script_draws_what_is_committed(name: str) -> None:
    made = FILES[name]().encode()
    assert made == (FOLDER / name).read_bytes(), f"python -m benchmarks.report.drawings draws {name} anew; look at it"


def test_no_other_file_lies_beside_them() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_picture_stands_alone_and_says_what_it_shows(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    title = ET.fromstring(text).findtext("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert len(title) > 20
    assert set(re.findall(r"https?://[^\"') ]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "<script" not in text
