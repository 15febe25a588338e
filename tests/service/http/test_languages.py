"""The examples in Python, TypeScript and Go run against a service as the page says, and print the same."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.examples import ROOT, run_commands
from support.service_process import ServiceProcess

from retrivex.service.keys import Keys

pytestmark = pytest.mark.integration

PAGE = (ROOT / "docs" / "howto" / "service_clients.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## From Python, TypeScript and Go\n")[1].split("\n## ")[0]
EXAMPLES = ROOT / "examples" / "service"
FILES = {"python": "python/ask.py", "typescript": "node/ask.ts", "go": "go/main.go"}
MODULES = Path(os.environ.get("RETRIVEX_NODE_MODULES", Path(sys.prefix, "node_modules")))


@pytest.fixture(scope="module", autouse=True)
def _there() -> None:
    if None in (shutil.which("node"), shutil.which("go")) or not (MODULES / "openapi-typescript").is_dir():
        pytest.skip("make integration-serve installs node, its packages, and Go")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Return a folder with the examples, beside a service over the handbook, and its address."""
    folder = tmp_path_factory.mktemp("languages")
    ignored = shutil.ignore_patterns("node_modules", "*.d.ts", "*.js", "package-lock.json")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=ignored)
    (folder / "examples" / "service" / "node" / "node_modules").symlink_to(MODULES)
    with ServiceProcess(folder, "examples/handbook") as service:
        yield folder, service.address


def blocks(address: str) -> dict[str, str]:
    """Return the commands of each language, as they stand on the page, with the address of a service."""
    found = re.findall(r"^\*Needs a running service\.\*\n\n```bash\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    made = [block.replace("http://127.0.0.1:8080", address) for block in found]
    return dict(zip(FILES, made, strict=True))


@pytest.fixture(scope="module")
def printed(served: tuple[Path, str]) -> dict[str, str]:
    """Return what the commands of each language print."""
    folder, address = served
    return {name: run_commands(commands, name, folder) for name, commands in blocks(address).items()}


def test_the_three_print_the_same(printed: dict[str, str]) -> None:
    assert printed["python"].startswith("[1] ")
    assert "[1] travel.md (Travel), 252 characters" in printed["python"]
    assert printed["python"].endswith("404: there is no index 'archive': this service has default\n")
    assert printed["go"] == printed["python"]
    assert printed["typescript"].endswith(printed["python"])  # behind what npm prints


@pytest.mark.usefixtures("printed")
def test_the_types_know_every_field_of_an_answer(served: tuple[Path, str]) -> None:
    node = served[0] / "examples" / "service" / "node"
    text = (node / "ask.ts").read_text(encoding="utf-8")
    (node / "wrong.ts").write_text(text.replace("found.doc_id", "found.document"), encoding="utf-8")
    settings = (node / "tsconfig.json").read_text(encoding="utf-8").replace("ask.ts", "wrong.ts")
    (node / "wrong.json").write_text(settings, encoding="utf-8")
    command = ["node_modules/.bin/tsc", "--noEmit", "--project", "wrong.json"]
    done = subprocess.run(command, cwd=node, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode != 0
    assert "Property 'document' does not exist" in done.stdout


@pytest.mark.usefixtures("printed")
def test_each_of_them_sends_its_key_and_says_what_the_service_says(served: tuple[Path, str], tmp_path: Path) -> None:
    _, key = Keys(tmp_path / "keys.db").create("examples")
    shutil.copytree(ROOT / "examples" / "handbook", tmp_path / "handbook")
    with ServiceProcess(tmp_path, "handbook") as service:
        for name, commands in blocks(service.address).items():
            built = re.sub(r"^npm .*\n", "", commands, flags=re.MULTILINE)
            with_key = f"export RETRIVEX_KEY={key}\n{built}"
            assert "travel.md (Travel)" in run_commands(with_key, name, served[0])
            with pytest.raises(AssertionError, match=r"401.*no key, or none that is known"):
                run_commands(with_key.replace(key, f"{key}x"), name, served[0])


@pytest.mark.parametrize("language", FILES)
def test_the_page_shows_what_the_files_hold(language: str) -> None:
    shown = re.findall(rf"^```{language}\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    assert shown
    text = (EXAMPLES / FILES[language]).read_text(encoding="utf-8")
    assert all(block in text for block in shown)
