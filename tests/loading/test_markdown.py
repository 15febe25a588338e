import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import LoadError
from retrivex.loading.markdown import first_heading, load_markdown, plain, read_front_matter

PAGE = """---
title: "Bees: a study"
date: 2024-05-01
draft: false   # soon
tags: [insects, sleep]
authors:
  - name: Ann
---

# Another title

Bees sleep.
"""


def test_front_matter_is_cut_and_its_length_kept() -> None:
    document = load_markdown(PAGE.encode(), "bees.md").document
    assert document.text == "# Another title\n\nBees sleep.\n"
    assert document.format == "markdown"
    start = document.metadata["text_start"]
    assert PAGE[start:] == document.text


def test_front_matter_gives_title_date_and_plain_values() -> None:
    document = load_markdown(PAGE.encode(), "bees.md").document
    assert document.title == "Bees: a study"
    assert document.timestamp == 1714521600.0
    assert dict(document.metadata) == {
        "title": "Bees: a study",
        "date": "2024-05-01",
        "draft": "false",
        "tags": ["insects", "sleep"],
        "authors": ["Ann"],
        "text_start": PAGE.index("# Another"),
    }


TOML = """+++
title = "Pumps"
date = 2024-05-01T12:00:00Z
draft = false
weight = 3
tags = ["water", "seals"]
author = { name = "Ann", email = "ann@example.org" }

[extra]
toc = true
+++

# Another title
"""


def test_toml_is_front_matter_as_yaml_is() -> None:
    document = load_markdown(TOML.encode(), "pumps.md").document
    assert document.text == "# Another title\n"
    assert (document.title, document.timestamp) == ("Pumps", 1714564800.0)
    assert dict(document.metadata) == {
        "title": "Pumps",
        "date": "2024-05-01 12:00:00+00:00",
        "draft": "false",
        "weight": "3",
        "tags": ["water", "seals"],
        "author": "Ann",
        "text_start": TOML.index("# Another"),
    }
    assert load_markdown(TOML.replace("\n", "\r\n").encode(), "pumps.md").document.title == "Pumps"


@pytest.mark.parametrize(
    ("front", "values", "note"),
    [
        ("---\ntitle: Bees: a study\ntags: [a\n---\n", {"title": "Bees: a study"}, "not valid YAML: only its plain"),
        ("+++\ntitle = Bees\n+++\n", {}, "not valid TOML: it was left in the text"),
        ("---\ntags:\n- a\n- b\nsummary: >\n  Two\n---\n", {"tags": ["a", "b"], "summary": "Two\n"}, None),
        ("---\nversion: 1.10\nx: !!python/name:os.system\n---\n", {"version": "1.10"}, None),
    ],
)
def test_front_matter_that_is_odd(front: str, values: dict[str, object], note: str | None) -> None:
    loaded = load_markdown(f"{front}Text.\n".encode(), "a.md")
    assert {key: value for key, value in loaded.document.metadata.items() if key != "text_start"} == values
    assert loaded.document.text.endswith("Text.\n")
    assert (note is None and not loaded.notes) or (note is not None and note in loaded.notes[0])


def test_windows_newlines_stay() -> None:
    document = load_markdown(b"---\r\ntitle: Bees\r\n---\r\n# Sleep\r\ntext\r\n", "a.md").document
    assert (document.title, document.text) == ("Bees", "# Sleep\r\ntext\r\n")


@pytest.mark.parametrize(
    "text",
    [
        "---\nA rule, then words.\n---\nmore\n",
        "---\nkey: value\nnever closed\n",
        "---\n---\n# Empty block\n",
        "text first\n---\ntitle: no\n---\n",
        " ---\ntitle: indented\n---\n",
    ],
)
def test_what_is_not_front_matter_stays(text: str) -> None:
    assert read_front_matter(text).length == 0
    assert load_markdown(text.encode(), "a.md").document.text == text


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n-:# "), max_size=60))
def test_front_matter_is_always_a_prefix_that_ends_a_line(text: str) -> None:
    length = read_front_matter("---\na: b\n" + text).length
    assert length <= len(text) + 9
    assert length == 0 or ("---\na: b\n" + text)[:length].rstrip("\n ").endswith(("---", "..."))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n# Two\n", "One"),
        ("## Two\n\n# One #\n", "One"),
        ("Underlined *title*\n===\n", "Underlined title"),
        ("```sh\n# comment\n```\n\n# Real\n", "Real"),
        ("~~~\n```\n# comment\n~~~\n# Real", "Real"),
        ("    # code\n\n# Real", "Real"),
        ("#hashtag\n", None),
        ("## Only two\n", None),
        ("\n===\n", None),
        ("# C\\# and [links](x) `a_b`\n", "C# and links a_b"),
    ],
)
def test_title_is_the_first_level_one_heading(text: str, title: str | None) -> None:
    assert first_heading(text) == title


def test_plain_keeps_the_words() -> None:
    assert plain("**Bees** & `wasps` ![a picture](x.png) &amp; <b>more</b>") == "Bees & wasps a picture & <b>more</b>"


def test_a_file_of_front_matter_alone_is_empty() -> None:
    with pytest.raises(LoadError, match="empty"):
        load_markdown(b"---\ntitle: Bees\n---\n", "a.md")
