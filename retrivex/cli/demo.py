"""`retrivex demo`: shows what a model reads with and without RetriVex, from the same hits and at the same budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich import box
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from retrivex.chunking import get_chunker
from retrivex.cli.index import list_problems
from retrivex.cli.options import find_tokenizer
from retrivex.cli.query import ask, sources
from retrivex.cli.terminal import console, one_line, visible, write_text
from retrivex.composer.composer import SpanComposer
from retrivex.config import RetrievalConfig
from retrivex.encoders.encoder import HashingEncoder
from retrivex.model.hit import SeedHit
from retrivex.retrieval.indexing import Indexer, IndexReport
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore
from retrivex.text.quotes import find_quote
from retrivex.tokens.tokenizer import Tokenizer

PAGES = Path(__file__).with_name("demo_pages")
"""Help pages of an invented bike-sharing service."""

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "Can I get money back for a year pass that I no longer use?": (
        "A pass can be given back within two weeks if it was never used.",
        "for each month that has not begun you get back nine euros.",
        "Refunds go to the card that was charged and take up to ten days.",
    ),
    "What do I do when the station is full?": (
        "If a station is full, the app shows the nearest free docks",
        "A bike that stands beside a dock is not returned, and the ride goes on.",
    ),
    "What does an electric bike cost?": (
        "Electric bikes cost 20 cents a minute.",
        "With a pass, electric bikes cost 8 cents a minute",
    ),
}
"""Questions, each with the sentences that answer it together."""

_HITS = 12
_BUDGET = 215
_CHUNK_TOKENS = 40


def demo(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="A folder; left out, pages that come with RetriVex.")
    ] = None,
    asked: Annotated[
        list[str] | None, typer.Option("--ask", metavar="QUESTION", help="Ask this instead; repeatable.")
    ] = None,
    budget: Annotated[int, typer.Option("--budget", "-b", min=0, metavar="TOKENS", help="Most tokens.")] = _BUDGET,
) -> None:
    """Show what a model would read with and without RetriVex: the same hits, the same number of tokens.

    Asks three questions of the help pages of an invented bike-sharing service, or yours of a folder of your own, in a
    temporary database. Needs no model and no network.

    \b
    Examples:
      retrivex demo
      retrivex demo --ask "Can my child ride on the bike?"
      retrivex demo notes/ --ask "What did we decide about the roof?" --budget 500
    """
    if folder is not None and not asked:
        raise typer.BadParameter(
            f"{one_line(str(folder))} has questions of its own: ask one, as in --ask 'What is ...?'"
        )
    questions = dict.fromkeys(asked, ()) if asked else QUESTIONS
    pages = folder or PAGES
    tokenizer = find_tokenizer()
    with TemporaryDirectory() as temporary, SQLiteStore(Path(temporary, "demo.db")) as store:
        cutter = get_chunker("auto", size=_CHUNK_TOKENS, tokenizer=tokenizer)
        report = Indexer(store, cutter, tokenizer, HashingEncoder()).index([pages])
        if not report.documents:
            raise typer.BadParameter(f"{one_line(str(pages))} holds nothing that can be read: give another folder")
        _report_index(report, folder, budget)
        for question, answer in questions.items():
            _show(store, question, answer, budget, tokenizer)
    write_text('\nYour own files: retrivex index FOLDER, then retrivex query "..." --explain')


def _report_index(report: IndexReport, folder: Path | None, budget: int) -> None:
    what = "help pages of a bike-sharing service" if folder is None else f"documents of {one_line(str(folder))}"
    list_problems(report)
    write_text(
        f"{report.documents:,} {what}, cut into {report.chunks:,} chunks of at most {_CHUNK_TOKENS} tokens;\n"
        f"the {_HITS} best of them and {budget:,} tokens of context for each question."
    )


def _show(store: SQLiteStore, question: str, answer: Sequence[str], budget: int, tokenizer: Tokenizer) -> None:
    encoder = HashingEncoder()
    composer = SpanComposer(RetrievalConfig(token_budget=budget))
    composition = ask(store, question, composer, k=_HITS, embed=encoder.name)
    hits = LocalRetriever(store, encoder).retrieve(question, _HITS)
    plain = "\n\n".join(hit.chunk.text.strip() for hit in plain_hits(hits, budget, tokenizer))
    places = "\n".join(f"[{number}] {line}" for number, line in sources(composition))
    screen = console()
    screen.print()
    screen.print(Rule(Text(one_line(question), style="bold"), align="left"))
    screen.print(_side_by_side(plain, composition.text, places, answer))


def plain_hits(hits: list[SeedHit], budget: int, tokenizer: Tokenizer) -> list[SeedHit]:
    """Return the hits that a plain top-k context holds: whole chunks, best first, while they fit the budget."""
    kept: list[SeedHit] = []
    for hit in hits:
        text = "\n\n".join(known.chunk.text for known in (*kept, hit))
        if tokenizer.count(text) <= budget:
            kept.append(hit)
    return kept


def _side_by_side(plain: str, context: str, places: str, answer: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, expand=True)
    for title in ("Without RetriVex: the best chunks", "With RetriVex"):
        table.add_column(title, ratio=1, overflow="fold")
    table.add_row(_highlighted(plain, answer), _highlighted(context, answer))
    table.add_row()
    if answer:
        table.add_row(*(Text(verdict(text, answer), style="bold") for text in (plain, context)))
    table.add_row("", Text(places, style="dim"))
    return table


def verdict(text: str, answer: Sequence[str]) -> str:
    """Return how much of an answer a text holds, in words.

    Examples
    --------
    >>> verdict("Bees sleep at night.", ("Bees sleep", "in winter too"))
    'Part of the answer: 1 of 2 sentences'
    """
    found = sum(1 for sentence in answer if any(find_quote(text, sentence)))
    if found == len(answer):
        return "The whole answer"
    return f"Part of the answer: {found} of {len(answer)} sentences" if found else "Not the answer"


def _highlighted(text: str, answer: Sequence[str]) -> Text:
    marked = Text(visible(text))
    for sentence in answer:
        for start, end in find_quote(text, sentence):
            marked.stylize("bold green", start, end)
    return marked
