"""The blocks of the pages run against a service, and their table names every setting."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from support.examples import ROOT, run, run_commands
from support.service_process import ServiceProcess

pytestmark = pytest.mark.integration

PAGES = [*sorted((ROOT / "docs" / "howto").glob("service*.md")), ROOT / "docs" / "reference" / "api" / "client.md"]


def test_every_block_that_needs_a_running_service_runs(tmp_path: Path) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    blocks = re.findall(
        r"^\*Needs a running service\.\*\n\n```(bash|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    blocks = [(kind, block) for kind, block in blocks if "examples/service" not in block]  # see test_languages.py
    assert {kind for kind, _ in blocks} == {"bash", "python"}
    shutil.copytree(ROOT / "examples" / "handbook", tmp_path / "handbook")
    with ServiceProcess(tmp_path, "handbook", "--embed", "hashing") as service:
        for kind, block in blocks:
            source = block.replace("http://127.0.0.1:8080", service.address)
            if kind == "python":
                assert run(source, "service.md", tmp_path)
            else:
                commands = source.replace("curl -s", "curl --fail-with-body -s")
                assert run_commands(commands, "service.md", tmp_path)


def test_the_table_names_every_setting() -> None:
    from retrivex.service.settings import Settings  # noqa: PLC0415

    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    settings = text.split("## Settings")[1].split("\n## ")[0]
    named = re.findall(
        r"`(\w+)`", "".join(line.split("|")[1] for line in settings.splitlines() if line.startswith("| `"))
    )
    assert sorted(named) == sorted(Settings.model_fields)
