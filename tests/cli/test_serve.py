from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from retrivex.cli import app

run = CliRunner().invoke


@pytest.mark.skipif(importlib.util.find_spec("fastapi") is not None, reason="the extra serve is installed")
def test_a_missing_extra_is_one_line_that_names_it() -> None:
    done = run(app, ["serve"])
    assert done.exit_code == 3
    assert "retrivex-rag[serve]" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_needs_no_extra_and_loads_no_server() -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from retrivex.cli import app;"
        "done = CliRunner().invoke(app, ['serve', '--help']); assert done.exit_code == 0, done.output;"
        "assert not {'fastapi', 'uvicorn', 'pydantic_settings'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
