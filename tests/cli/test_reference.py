"""The page of the command line is what the commands say of themselves, and their examples can be read by them."""

from __future__ import annotations

import re
import runpy
import shlex
from typing import Any

import pytest
from support.examples import ROOT

from retrivex.cli import failures

PROGRAM = ROOT / ".ci" / "reference.py"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="no checkout, as beside an unpacked wheel")


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    return runpy.run_path(str(PROGRAM))


def test_the_page_is_what_the_commands_say(reference: dict[str, Any]) -> None:
    page, made = reference["made_anew"]("commands")
    assert page == made, "run python .ci/reference.py"


def test_every_option_is_on_the_page(reference: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    for path, command in reference["list_commands"]():
        assert f"\n## {path}\n" in page
        assert {option for each in command.params for option in each.opts if option.startswith("-")} <= set(
            re.findall(r"-[\w-]+", page)
        )


def test_examples_of_the_help_name_options_that_are_there(reference: dict[str, Any]) -> None:
    typer, commands = reference["typer"], dict(reference["list_commands"]())
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    lines = re.sub(r"\\\n\s*", "", "".join(blocks)).splitlines()
    calls = [re.search(r"\bretrivex [^|>]*", line) for line in lines]
    assert len(calls) > 40
    for call in calls:
        assert call is not None
        words = shlex.split(call[0])
        size = 3 if " ".join(words[:3]) in commands else 2
        command = commands[" ".join(words[:size])]
        context = typer.Context(command, info_name=words[1])
        command.make_parser(context).parse_args(words[size:])  # an option that is not there is an error


def test_every_exit_code_is_on_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    codes = [value for name, value in vars(failures).items() if name.isupper() and isinstance(value, int)]
    assert sorted(map(int, re.findall(r"^\| (\d+) \|", page, re.MULTILINE))) == sorted(codes)
