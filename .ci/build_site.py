"""Build the documentation site: the pages of `docs/`, and the files of the repository that they lead to.

`build/docs` gets a copy of `docs/`, and under `repository/` what its pages lead to outside of it, so that every link
works from a file system; what those name in turn is on no page of the site, which says so. zensical then builds
`build/site`. Exits with 1 where a link, a picture or an anchor leads nowhere, or the site is too large.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import griffe

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
STAGE = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
PACKAGE = ROOT / "build" / "package"
MAX_BYTES = 5_000_000  # without notebooks
ELSEWHERE = STAGE / "repository" / "elsewhere.md"
MOST_SEARCHED = 600  # characters of a section that search reads
MOST_SEARCHED_OF_A_NAME = 200  # of the reference, where titles are what is looked for
BLOCK = (
    "html|head|body|meta|link|title|ul|ol|li|nav|div|p|table|thead|tbody|tr|td|th|h[1-6]|header|footer|main|article|"
    "section|form|dl|dt|dd|details|summary|hr|figure"
)
SPAN = "<span class="
SHORTER = (
    (re.compile(r"<span class=(?:n|o|p|w)>([^<]*)</span>"), r"\1"),  # elements around names and punctuation in code
    (re.compile(r' title="Permanent link"'), ""),
    # of mkdocstrings: titles with elements, which browsers show as text
    (re.compile(r"<span title=[^>]*>([^<]*)</span>"), r"\1"),
    (re.compile(r"""<a class="autorefs autorefs-internal" title=(?:'[^']*'|"[^"]*")"""), "<a"),
    (re.compile(r"<div class=doc-md-description> <p>((?:(?!<p>|</?div).)*)</p> </div>"), r"\1"),
    (re.compile(r'<div class="doc doc-children"> </div>'), ""),
    (re.compile(r' style="text-align: right;"'), " align=right"),
    # what the style sheet of the site says
    (re.compile(r'<svg xmlns=http://www.w3.org/2000/svg fill=none [^>]*class="lucide [\w-]+"'), "<svg class=lucide"),
    (re.compile(rf"(md-nav__link>) {SPAN}md-ellipsis>(?: {SPAN}md-typeset>)?([^<]*)(?:</span> )+(?=</a>)"), r"\1\2"),
    (re.compile(r"<pre><span></span>"), "<pre>"),
    (re.compile(rf"\s*(</?(?:{BLOCK})\b[^>]*>)\s*"), r"\1"),  # space around blocks
    (re.compile(r"</(?:li|td|th|tr)>(?=<)"), ""),  # HTML needs no such ends
)
CLASSES = re.compile(r' class=(?:"([^"]*)"|([^\s>]+))')
ROOT_OF_SITE = 'new URL("..",document.currentScript.src)'
REPEATED = (  # scripts of the theme that every page repeats, and what makes a file of one
    ("site.js", re.compile(r"<script>(__md_scope=)new URL\([^)]*\)(.*?)</script>"), rf"\1{ROOT_OF_SITE}\2"),
    ("palette.js", re.compile(r"<script>(var palette=.*?)</script>"), r"\1"),
    (
        "config.js",
        re.compile(r"<script id=__config type=application/json>(.*?)</script>"),
        rf"{{const root={ROOT_OF_SITE},config=\1;for(const name of ['base','search'])"
        'config[name]=new URL(config[name],root).href;const element=document.createElement("script");'
        'element.id="__config";element.type="application/json";element.textContent=JSON.stringify(config);'
        "document.body.append(element)}",
    ),
)
CONTENTS = '<nav class="md-nav md-nav--secondary"'
ONE_INDEX = re.compile(r'location\.protocol==="file:"(?=\?\w+\(`\$\{new URL\("search\.js")')
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"""(\]\(|^\[[\w-]+\]:\ |(?:src|href)=")(?![a-z]+:|\#)([^)\s"#]+)""", re.MULTILINE)


def target_of(page: Path, link: re.Match[str]) -> Path:
    """Return the file that a link of a page leads to."""
    return Path(os.path.normpath(page.parent / link[2]))


def list_targets(page: Path) -> set[Path]:
    """Return the files that a page leads to; what is missing is found in the built pages."""
    prose = CODE.split(page.read_text(encoding="utf-8"))[::2]
    targets = {target_of(page, link) for part in prose for link in LINK.finditer(part)}
    return {target for target in targets if target.is_file()}


def place(path: Path, pages: set[Path]) -> Path:
    """Return where a file of the repository stands in the site's sources."""
    if path.is_relative_to(DOCS):
        return STAGE / path.relative_to(DOCS)
    return STAGE / "repository" / path.relative_to(ROOT) if path in pages or path.suffix != ".md" else ELSEWHERE


def stage_page(page: Path, pages: set[Path]) -> None:
    """Copy a page, with its links set to where their targets stand."""

    def rewrite(link: re.Match[str]) -> str:
        target = target_of(page, link)
        if not target.is_file():
            return link[0]
        return link[1] + os.path.relpath(place(target, pages), place(page, pages).parent)

    parts = CODE.split(page.read_text(encoding="utf-8"))
    text = "---\nsearch:\n  exclude: true\n---\n\n" * (not page.is_relative_to(DOCS))
    text += "".join(part if index % 2 else LINK.sub(rewrite, part) for index, part in enumerate(parts))
    place(page, pages).write_text(text, encoding="utf-8")


def stage() -> None:
    """Lay out the sources of the site under `build/`."""
    for folder in (STAGE, SITE, PACKAGE):
        shutil.rmtree(folder, ignore_errors=True)
    own = set(DOCS.rglob("*.md"))
    pages = own | {target for page in own for target in list_targets(page) if target.suffix == ".md"}
    files = pages | {target for page in pages for target in list_targets(page)} | set((DOCS / "assets").iterdir())
    for path in (path for path in files if place(path, pages) != ELSEWHERE):
        place(path, pages).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place(path, pages))
    for page in pages:
        stage_page(page, pages)
    ELSEWHERE.write_text("# In the repository\n\nThis file is not a part of the site: it is in the repository alone.\n")
    ignore = shutil.ignore_patterns("__pycache__", "adapters")
    shutil.copytree(ROOT / "retrivex", PACKAGE / "retrivex", ignore=ignore)
    shutil.copytree(ROOT / "adapters", PACKAGE / "retrivex" / "adapters", ignore=ignore)


def list_built() -> list[Path]:
    """Return the pages of the site: the one of a wrong address has addresses of a server, a recording is a file."""
    return [path for path in SITE.rglob("*.html") if path.name not in ("404.html", "answer.html")]


def without_second_contents(text: str) -> str:
    """Drop the list of a page's headings from the navigation: it stands beside the text, on phones under a button."""
    start = text.find(CONTENTS)
    if start == text.rfind(CONTENTS):
        return text
    depth = 0
    for tag in re.finditer(r"<(/?)nav\b", text[start:]):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return text[:start] + text[start + tag.end() + 1 :]
    return text


def shorten_index() -> None:
    """Drop the second copy of what search reads, and the ends of long sections."""
    [bundle] = (SITE / "assets" / "javascripts").glob("bundle.*.js")
    text, found = ONE_INDEX.subn("true", bundle.read_text(encoding="utf-8"))
    if found == 1:
        bundle.write_text(text, encoding="utf-8")
        (SITE / "search.json").unlink()
    index = json.loads((SITE / "search.js").read_text(encoding="utf-8").removeprefix("var __index = ").rstrip("; \n"))
    for item in index["items"]:
        most = MOST_SEARCHED_OF_A_NAME if item["location"].startswith("reference/api/") else MOST_SEARCHED
        item["text"] = re.sub(r"(?:</?\w[^>]*>|\s)+", " ", item["text"])[:most]
    names = list(index["items"][0])
    index["items"] = [[item[name] for name in names] for item in index["items"]]
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    named = f"__index.items=__index.items.map(([{','.join(names)}])=>({{{','.join(names)}}}))"
    (SITE / "search.js").write_text(f"var __index={text};{named};", encoding="utf-8")


def share_scripts(pages: dict[Path, str]) -> None:
    """Make files of the scripts that every page repeats."""
    for name, pattern, source in REPEATED:
        (SITE / "assets" / name).write_text(pattern.search(pages[SITE / "index.html"]).expand(source), encoding="utf-8")
        for path, text in pages.items():
            address = os.path.relpath(SITE / "assets" / name, path.parent)
            pages[path] = pattern.sub(f"<script src={address}></script>", text)


def slim() -> None:
    """Drop what no reader sees: the theme's other variant, elements around text, classes that nothing names."""
    shutil.rmtree(SITE / "assets" / "stylesheets" / "classic")
    shorten_index()
    assets = [path for path in (SITE / "assets").rglob("*") if path.suffix in (".css", ".js")]
    named = set(re.findall(r"[\w-]+", "\n".join(path.read_text(encoding="utf-8") for path in assets)))

    def keep_named(classes: re.Match[str]) -> str:
        kept = [name for name in (classes[1] or classes[2]).split() if name in named]
        return f' class="{" ".join(kept)}"' if kept[1:] else "".join(f" class={name}" for name in kept)

    pages = {path: without_second_contents(path.read_text(encoding="utf-8")) for path in list_built()}
    for path, text in pages.items():
        for pattern, short in SHORTER:
            text = pattern.sub(short, text)
        pages[path] = CLASSES.sub(keep_named, text)
    share_scripts(pages)
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")


class Page(HTMLParser):
    """The anchors of a built page, and where it leads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element's id and address."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def find_broken() -> Iterator[str]:
    """Yield a line for each link, picture or anchor of the built pages that leads nowhere, or to the network."""
    pages = {path: Page(path) for path in list_built()}
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            if parts.scheme:
                continue
            if not target.is_file():
                yield f"{path.relative_to(SITE)}: {link}: no such file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(SITE)}: {link}: no such anchor"


def find_undocumented() -> Iterator[str]:
    """Yield a line for each name of the reference that has no docstring."""
    package = griffe.load("retrivex", search_paths=[PACKAGE], try_relative_path=False, resolve_aliases=True)
    for page in sorted((DOCS / "reference" / "api").glob("*.md")):
        for path in re.findall(r"^::: retrivex\.(\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            found = package[path]
            names = [found, *(found[name] for name in found.exports or ())] if found.is_module else [found]
            for name in names:
                if not name.has_docstring:
                    yield f"{page.relative_to(ROOT)}: {name.path} has no docstring"


if __name__ == "__main__":
    stage()
    zensical = Path(sys.executable).with_name("zensical")
    code = subprocess.run([zensical, "build", "--clean", "--strict"], cwd=ROOT).returncode
    if not code:
        slim()
    problems = [*find_undocumented(), *find_broken()]
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file() and path.suffix != ".ipynb")
    if size > MAX_BYTES:
        problems.append(f"the site has {size:,} bytes, more than {MAX_BYTES:,}")
    print("\n".join(problems) or f"the site is in {SITE.relative_to(ROOT)}: {size:,} bytes, no broken link")  # noqa: T201
    sys.exit(code or bool(problems))
