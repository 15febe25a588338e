"""Small files that ask for much text: what they make is bounded, whatever they repeat."""

from __future__ import annotations

import io
import random
import time
import traceback
from pathlib import Path

from fuzz.files import has_office, mutate
from fuzz.ledger import Violation
from fuzz.limits import TooSlowError, processor_limit
from fuzz.loaders import SECONDS, check_document, refused
from fuzz.mutants import Mutant
from fuzz.tally import Tally, describe

from retrivex.loading.files import load_bytes
from retrivex.loading.limits import Allowance

KIND = "bombs"
TOTAL, SHORT = 5_000, 200
BLOCK = 50
WORLDS_TO_CATCH = 500
DRAWN_BY = [Path(__file__).parent / f"{name}.py" for name in ("files", "bombs")]
PLANTED = (Mutant("small files make any amount of text", Allowance, "take", lambda _: lambda self, characters: None),)


def make_page_bomb(rng: random.Random) -> bytes:
    """Make a small page that asks for much text, by cells over many rows and columns or by indentation."""
    text, many = "bee " * rng.choice((10, 100, 1000, 3000)), rng.choice((20, 200, 600))
    pages = (
        f"<table><tr><td rowspan={rng.choice((many, 999_999))}>{text}" + "<tr><td>x" * many + "</table>",
        "<table><tr>" + "<td>x" * many * 3 + "<tr><td>y" * many * 3 + f"<td>{text}</table>",
        "<ul><li>" * many + "<p>bee" * rng.choice((10, 300, 1000)),
    )
    return rng.choice(pages).encode()


def make_sheet_bomb(rng: random.Random) -> bytes:
    """Make a small workbook in which many cells share one long text, or of which few cells lie far apart."""
    from openpyxl import Workbook  # noqa: PLC0415 - not everywhere

    book, packed = Workbook(), io.BytesIO()
    if rng.random() < 0.7:
        text = "bee " * rng.choice((10, 1000, 8000))
        for _ in range(rng.choice((3, 30, 100))):
            book.active.append([text] * rng.choice((1, 4)))
    else:
        for row in range(1, rng.choice((2, 50))):
            book.active.cell(row * rng.choice((1, 999)), rng.choice((1, 16_384)), "bee")
    book.save(packed)
    return packed.getvalue()


def try_case(seed: int, number: int, covered: list[str]) -> BaseException | None:
    """Draw one file and read it; return what went wrong."""
    rng = random.Random(f"bombs:{seed}:{number}")
    suffix = ".xlsx" if has_office() and rng.random() < 0.3 else ".html"
    raw = make_sheet_bomb(rng) if suffix == ".xlsx" else make_page_bomb(rng)
    raw = mutate(rng, raw) if rng.random() < 0.2 else raw
    covered.append(suffix)
    try:
        with processor_limit(SECONDS):
            loaded = refused(lambda: load_bytes(raw, suffix, f"file{suffix}", None), covered)
            if loaded is not None:
                check_document(loaded.document, raw)
    except (Exception, TooSlowError) as error:  # noqa: BLE001 - whatever goes wrong is what is looked for
        return error
    return None


def fuzz(seed: int, numbers: range, stop_after: int = 20) -> Tally:
    """Read the files of these numbers."""
    tally, began = Tally(), time.process_time()
    for number in numbers:
        covered: list[str] = []
        error = try_case(seed, number, covered)
        tally.cases += 1
        tally.covered.update(set(covered))
        if error is not None:
            tally.violations.append(Violation(f"{seed}:{number}", describe(error), ", ".join(covered)))
            if len(tally.violations) >= stop_after:
                break
    tally.seconds = time.process_time() - began
    return tally


def repeat(seed: int, number: int) -> int:
    """Read one file again, with a traceback."""
    error = try_case(seed, number, [])
    if error is not None:
        traceback.print_exception(error)
    return 1 if error is not None else 0
