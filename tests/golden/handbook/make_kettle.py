"""Make documents/kettle.pdf, a manual of three pages: `python tests/golden/handbook/make_kettle.py`."""

from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF

WRITTEN = datetime(2026, 11, 23, tzinfo=UTC)

TEMPERATURES = (
    ("Key", "Temperature", "Meant for"),
    ("1", "70 degrees", "white tea, baby food"),
    ("2", "80 degrees", "green tea"),
    ("3", "90 degrees", "oolong, filter coffee"),
    ("4", "100 degrees", "black tea, herbs, soup"),
)

SAFETY = """\
Thank you for choosing the Brightwell EK-2, an electric kettle of 1.7 litres. Read these pages before you use it for \
the first time, and keep them with the receipt.

The kettle is made for water and for nothing else. Milk boils over and burns on the base. Never fill it above the \
line MAX: boiling water may be thrown out of the spout. Never put the kettle or its stand under water.

Place the stand on a level, dry surface, out of the reach of children. Let the cord not hang over the edge of the \
table. Children of eight years and more may use the kettle if somebody has shown them how and watches them.

Before the first use, boil a full kettle of water three times and pour it away. A slight smell of plastic is normal \
and goes after a few days."""

USE = """\
Fill in at least half a litre, close the lid, and put the kettle on its stand. Press one of the four keys. The \
kettle beeps twice when the water has reached the temperature and switches itself off.

Keep warm. Hold the key for three seconds, and the water is kept at its temperature for 30 minutes. The light glows \
green for as long as it lasts. To end it earlier, lift the kettle from the stand.

Noise. To switch the beep off, hold the keys 1 and 4 together until the light goes out. The setting is lost when the \
plug is pulled."""

CLEANING = """\
Let the kettle cool down and pull the plug before you clean it. Wipe the outside with a damp cloth. The filter in \
the spout can be taken out upwards and rinsed under the tap.

Limescale makes the kettle loud and slow. Descale it once a month where water is hard. To do so, fill in half a \
litre of water and two spoons of citric acid, wait for an hour without heating, and rinse twice. Do not use vinegar, \
which attacks the seal of the lid."""

LIGHTS = """\
White, steady: the kettle stands on its base and is ready.
Green, steady: the water is kept warm.
Blue, pulsing: the water is being heated.
Red, blinking slowly: there is too little water in the kettle. Fill in at least half a litre.
Red, blinking fast: the kettle was heated without water and has switched itself off. Let it cool down for ten \
minutes.
No light: check the plug and the socket."""

WARRANTY = """\
Brightwell guarantees the kettle for three years from the day on which it was bought. Within this time we repair it, \
or replace it with a new one, free of charge, if a part fails that was made or fitted badly.

The guarantee does not cover limescale, scratches, damage from a fall, or use in a hotel or an office kitchen. It \
ends when the kettle has been opened by anyone but our workshop.

Send the kettle with a copy of the receipt to Brightwell Service, 4 Harbour Lane, Port Ellis. We pay the postage. \
Please do not send the stand if only the kettle is broken.

An old kettle does not belong in the household waste. Shops take it back, as does the yard of your town."""


def write_section(pdf: FPDF, title: str, text: str) -> None:
    """Add a title and its paragraphs to the page."""
    pdf.set_font("Helvetica", style="B", size=13)
    pdf.multi_cell(0, 9, text=title, new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Helvetica", size=11)
    pdf.multi_cell(0, 6, text=text, new_x="LMARGIN", new_y="NEXT")
    pdf.ln(4)


def make_manual() -> bytes:
    """Return the manual as a PDF, the same bytes at each call."""
    pdf = FPDF()
    pdf.set_creation_date(WRITTEN)
    pdf.set_title("Brightwell EK-2")
    pdf.add_page()
    write_section(pdf, "Brightwell EK-2", SAFETY)
    write_section(pdf, "Using the kettle", USE)
    pdf.add_page()
    write_section(pdf, "Temperatures", "\n".join("  ".join(row) for row in TEMPERATURES))
    write_section(pdf, "Cleaning", CLEANING)
    write_section(pdf, "What the light says", LIGHTS)
    pdf.add_page()
    write_section(pdf, "Guarantee", WARRANTY)
    return bytes(pdf.output())


if __name__ == "__main__":
    (Path(__file__).parent / "documents" / "kettle.pdf").write_bytes(make_manual())
