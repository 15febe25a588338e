"""The page of operations is what the service says of itself, and each of its commands is answered."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from support.examples import ROOT, run_commands
from support.service_process import ServiceProcess

pytestmark = pytest.mark.integration

PAGE = ROOT / "docs" / "reference" / "http.md"
BLOCK = re.compile(r"^\*Needs ([^\n]+)\.\*\n\n```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_is_what_the_service_says() -> None:
    page, made = runpy.run_path(str(ROOT / ".ci" / "reference.py"))["made_anew"]("operations")
    assert page == made, "run python .ci/reference.py"


def test_every_command_of_the_page_is_answered(tmp_path: Path) -> None:
    (_, start), *asked = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    *made, serve = start.strip().split("\n")
    run_commands("\n".join(made), PAGE.name, tmp_path)
    with ServiceProcess(tmp_path, *serve.removeprefix("retrivex serve ").split()) as service:
        for reason, block in asked:
            assert reason == "a running service"
            commands = block.replace("http://127.0.0.1:8080", service.address)
            assert run_commands(commands.replace("curl -s", "curl --fail-with-body -s"), PAGE.name, tmp_path)
