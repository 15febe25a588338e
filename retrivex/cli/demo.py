"""`retrivex demo`: indexes a folder, asks questions and shows the contexts, all in a temporary database."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich import box
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from retrivex.chunking import get_chunker
from retrivex.cli.explain import Explanation
from retrivex.cli.query import ask, print_context
from retrivex.cli.terminal import console, note, one_line, write_text
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.encoders.encoder import HashingEncoder
from retrivex.model.hit import SeedHit
from retrivex.retrieval.indexing import Indexer, IndexReport
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import Tokenizer, resolve_tokenizer

QUESTIONS = (
    "What stops a window from growing any further?",
    "Which chunker keeps the header row of a long table?",
    "What happens when I index a folder a second time?",
)
"""Asked of the project's own documentation."""

_OUR_PAGE = "concepts.md"
_HITS = 12
_BUDGET = 400
_CHUNK_TOKENS = 100


def demo(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="A folder; left out, RetriVex's own documentation.")
    ] = None,
    questions: Annotated[
        list[str] | None, typer.Option("--ask", metavar="QUESTION", help="Ask this instead; repeatable.")
    ] = None,
    budget: Annotated[int, typer.Option("--budget", "-b", min=0, metavar="TOKENS")] = _BUDGET,
) -> None:
    """Index a folder into a temporary database and ask it three questions. Needs no model and no network.

    Shows the context of each question with its sources, the picture of where it comes from, and what the best hits
    alone would have been at the same budget.

    \b
    Examples:
      retrivex demo
      retrivex demo notes/ --ask "What did we decide about the roof?"
    """
    asked = questions or list(QUESTIONS)
    found = folder if folder is not None else own_docs()
    if found is None:
        raise typer.BadParameter(
            "RetriVex's documentation is not installed with it: give a folder of your own and a question, as in "
            "retrivex demo notes/ --ask '...'"
        )
    if folder is not None and not questions and not (folder / _OUR_PAGE).is_file():
        raise typer.BadParameter(
            f"{one_line(str(folder))} is not RetriVex's documentation, to which its own questions belong: ask yours "
            "with --ask '...'"
        )
    tokenizer, messages = resolve_tokenizer()
    for message in messages:
        note(message)
    with TemporaryDirectory() as temporary, SQLiteStore(Path(temporary, "demo.db")) as store:
        encoder = HashingEncoder()
        cutter = get_chunker("auto", size=_CHUNK_TOKENS, tokenizer=tokenizer)
        report = Indexer(store, cutter, tokenizer, encoder).index([found])
        if not report.documents:
            raise typer.BadParameter(f"{one_line(str(found))} holds nothing that can be read: give another folder")
        _report_index(report, found)
        for question in asked:
            _answer(store, question, budget, tokenizer)


def own_docs() -> Path | None:
    """Return the documentation's folder beside the package; None where the package was installed without it."""
    docs = Path(__file__).parents[2] / "docs"
    return docs if (docs / _OUR_PAGE).is_file() else None


def _report_index(report: IndexReport, folder: Path) -> None:
    write_text(
        f"Indexed {one_line(folder.name or str(folder))}: {report.documents:,} documents, {report.chunks:,} chunks, "
        f"{report.tokens:,} tokens."
    )
    for problem in report.problems:
        note(str(problem))


def _answer(store: SQLiteStore, question: str, budget: int, tokenizer: Tokenizer) -> None:
    screen = console()
    screen.print()
    screen.print(Rule(Text(one_line(question), style="bold"), align="left"))
    config = RetrievalConfig(token_budget=budget)
    composition = ask(store, question, config, k=_HITS, embed=HashingEncoder().name)
    print_context(composition)
    screen.print(Explanation(composition, brief=True))
    hits = LocalRetriever(store, HashingEncoder()).retrieve(question, _HITS)
    screen.print()
    screen.print(Text("The same hits without RetriVex", style="bold underline"))
    screen.print(_comparison(composition, plain_hits(hits, budget, tokenizer), tokenizer))


def plain_hits(hits: list[SeedHit], budget: int, tokenizer: Tokenizer) -> list[SeedHit]:
    """Return the hits that a plain top-k context holds: whole chunks, best first, while they fit the budget."""
    kept: list[SeedHit] = []
    for hit in hits:
        text = "\n\n".join(known.chunk.text for known in (*kept, hit))
        if tokenizer.count(text) <= budget:
            kept.append(hit)
    return kept


def _comparison(composition: Composition, plain: list[SeedHit], tokenizer: Tokenizer) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("")
    for name in ("passages", "documents", "tokens", "tokens a passage"):
        table.add_column(name, justify="right")
    text = "\n\n".join(hit.chunk.text for hit in plain)
    rows = (
        ("best hits alone", len(plain), len({hit.key[0] for hit in plain}), tokenizer.count(text)),
        (
            "RetriVex",
            len(composition.spans),
            len({span.doc_id for span in composition.spans}),
            composition.tokens,
        ),
    )
    for name, passages, documents, tokens in rows:
        mean = f"{tokens / passages:,.0f}" if passages else "0"
        table.add_row(name, f"{passages:,}", f"{documents:,}", f"{tokens:,}", mean)
    return table
