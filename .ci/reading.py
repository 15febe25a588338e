"""Check that the pages for users read easily: exit code 1 where one does not, with the place of each long sentence.

Of the prose of a page (no code, no tables, no headings) the Flesch reading ease must be at least 50, and no sentence
may have more than 30 words. R. Flesch, A new readability yardstick, Journal of Applied Psychology 32, 1948:

    206.835 - 1.015 * words / sentences - 84.6 * syllables / words

Code inside a sentence counts as one word of one syllable, an item of a list as at least one sentence. Words that nobody
in the field knows are found by `words.py`.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from retrivex.chunking import sentence_ranges

ROOT = Path(__file__).parent.parent
FOLDERS = ("start", "learn", "howto")
MIN_EASE = 50.0
MAX_WORDS = 30
SILENT = re.compile(r"(?:(?<=[^aeiouytd])ed|(?<=[^aeiouylschgxz])es|(?<=[^aeiouyl])e|(?<=[aeiouy]l)es?)$")


def count_syllables(word: str) -> int:
    """Return the syllables of an English word, by its groups of vowels."""
    word = re.sub(r"[^a-z]", "", word.lower())
    if len(word) <= 3:
        return 1
    return max(1, len(re.findall(r"[aeiouy]+", SILENT.sub("", word))))


def list_sentences(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the words of each sentence of a page's prose."""
    heading = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in ("heading_open", "th_open", "td_open"):
            heading = True
        elif token.type in ("heading_close", "th_close", "td_close"):
            heading = False
        elif token.type == "inline" and not heading and token.map and token.children:
            parts = {"text": lambda part: part.content, "code_inline": lambda _: "it", "softbreak": lambda _: "\n"}
            prose = "".join(parts[part.type](part) for part in token.children if part.type in parts)
            for start, end in sentence_ranges(prose):
                words = re.findall(r"\w[\w'’.-]*", prose[start:end])
                if words:
                    yield token.map[0] + 1 + prose.count("\n", 0, start), words


def find_problems(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and problem of each sentence that is too long, and of the page where it is hard to read."""
    sentences = list(list_sentences(text))
    words = [word for _, found in sentences for word in found]
    if not words:
        return
    for line, found in sentences:
        if len(found) > MAX_WORDS:
            yield line, f"a sentence of {len(found)} words, more than {MAX_WORDS}: {' '.join(found[:6])} ..."
    ease = 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * sum(map(count_syllables, words)) / len(words)
    if ease < MIN_EASE:
        yield 1, f"reading ease {ease:.1f}, less than {MIN_EASE:.0f}: shorter sentences, shorter words"


if __name__ == "__main__":
    failed = False
    for page in sorted(page for folder in FOLDERS for page in (ROOT / "docs" / folder).rglob("*.md")):
        name = page.relative_to(ROOT / "docs").as_posix()
        problems = list(find_problems(page.read_text(encoding="utf-8")))
        failed |= bool(problems)
        for line, problem in problems:
            print(f"docs/{name}:{line}: {problem}")  # noqa: T201
    sys.exit(failed)
