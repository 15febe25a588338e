"""The notebooks on evaluation and on the attention profile run, and show what is stored in them."""

from __future__ import annotations

import pytest
from support.notebooks import FOLDER, read, run_notebook, texts

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("name", ["does_it_help", "attention_profile"])
def test_a_notebook(name: str) -> None:
    path = FOLDER / f"{name}.ipynb"
    assert texts(run_notebook(path)) == texts(read(path)), "make notebooks writes what they show today"
