"""The files for people who cite, report and contribute: whole, true, and leading somewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from support.examples import PAGES as DOCS

from retrivex import __version__

ROOT = Path(__file__).parents[1]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
TOP = ("README.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", "EVALUATION_REPORT.md")
PAGES = [*(ROOT / name for name in TOP), *DOCS]
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TYPES = {"markdown", "textarea", "input", "dropdown", "checkboxes"}

pytestmark = pytest.mark.skipif(not (ROOT / "CITATION.cff").exists(), reason="no checkout, as in an unpacked wheel")


def test_the_citation_is_whole_and_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "type", "license", "abstract"} <= set(cited)
    assert str(cited["version"]) == __version__
    assert cited["license"] == "MIT"


@pytest.mark.parametrize("path", [path for path in FORMS if path.name != "config.yml"], ids=lambda path: path.stem)
def test_a_form_for_issues_can_be_shown(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in form["body"]} <= TYPES
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_the_example_of_a_bug_report_runs(capsys: pytest.CaptureFixture[str]) -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / "bug_report.yml").read_text(encoding="utf-8"))
    [program] = [field["attributes"]["value"] for field in form["body"] if field.get("id") == "example"]
    exec(compile(program, "bug_report.yml", "exec"), {})
    assert "Two." in capsys.readouterr().out


def test_the_pull_request_template_names_targets_that_exist() -> None:
    text = (ROOT / ".github" / "pull_request_template.md").read_text(encoding="utf-8")
    [targets] = re.findall(r"`make ([\w ]+)`", text)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets.split())


@cache
def _anchors(path: Path) -> set[str]:
    """Return the anchors of a page, as repositories and the site make them of headings."""
    text = CODE.sub("", path.read_text(encoding="utf-8"))
    titles = [re.sub(r"\]\([^)]*\)", "", title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    slugs = [re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles]
    return {*slugs, *re.findall(r' (?:id|name)="([^"]+)"', text)}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_of_a_page_lead_to_files_and_headings(path: Path) -> None:
    text = CODE.sub("", path.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]+`", "``", text)):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        assert not anchor or "reference/api/" in link or anchor in _anchors(target), link
