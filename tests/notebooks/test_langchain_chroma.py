"""The notebook on LangChain and Chroma runs, and shows what is stored in it."""

from __future__ import annotations

import pytest
from support.notebooks import FOLDER, read, run_notebook, texts

pytestmark = pytest.mark.integration


def test_langchain_chroma() -> None:
    path = FOLDER / "langchain_chroma.ipynb"
    assert texts(run_notebook(path)) == texts(read(path)), "make notebooks writes what they show today"
