import json
from pathlib import Path
from textwrap import dedent

import pytest

from retrivex.errors import LoadError
from retrivex.loading import load_file
from retrivex.loading.data import load_json, load_yaml


def check(value: object, markdown: str) -> None:
    assert load_json(json.dumps(value).encode(), "a.json").document.text == dedent(markdown).strip() + "\n"


def test_keys_are_headings_and_plain_values_lines() -> None:
    check(
        {
            "pump": {"parts": {"seal": {"size": 12}}, "name": "P-1", "sealed": True, "tags": ["a", "b"]},
            "note": "two\n\nlines",
        },
        """
        - note: two
          lines

        # pump

        - name: P-1
        - sealed: true
        - tags: a, b

        ## parts

        ### seal

        - size: 12
        """,
    )


def test_records_with_short_values_are_a_table() -> None:
    check(
        {"parts": [{"sku": 1, "name": "a|b"}, {"sku": 2, "price": None}]},
        r"""
        # parts

        | sku | name | price |
        | --- | --- | --- |
        | 1 | a\|b |  |
        | 2 |  | null |
        """,
    )


def test_other_records_are_sections_with_their_names() -> None:
    text = "A long answer. " * 8
    check(
        [{"title": "Returns", "answer": text}, {"id": "7", "steps": [{"x": [[1]]}]}, ["a", "b"]],
        f"""
        # Returns

        - title: Returns
        - answer: {text.strip()}

        # 7

        - id: 7

        ## steps

        ### 1

        #### x

        - 1

        # 3

        - a
        - b
        """,
    )


def test_headings_go_on_below_the_sixth_level() -> None:
    check(
        {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1}}}}}}}},
        """
        # a

        ## b

        ### c

        #### d

        ##### e

        ###### f

        ###### f / g

        - h: 1
    """,
    )


def test_numbers_stay_as_they_are_written() -> None:
    digits = "9" * 5000
    text = load_json(f'{{"v": 1.10, "n": 1e3, "big": {digits}}}'.encode(), "a").document.text
    assert text == f"- v: 1.10\n- n: 1e3\n- big: {digits}\n"


def test_yaml_is_read_as_it_is_written() -> None:
    raw = b"# Settings\ntitle: Web\nversion: 1.10\ndebug: no\n---\nimage: !Ref Base\nports: [80, 443]\n"
    loaded = load_yaml(raw, "a.yaml")
    assert loaded.document.text == (
        "# Web\n\n- title: Web\n- version: 1.10\n- debug: no\n\n# 2\n\n- image: Base\n- ports: 80, 443\n"
    )
    assert loaded.notes == ("left out: comments",)
    assert load_yaml(b"title: Web\n", "a.yml").document.title == "Web"


@pytest.mark.parametrize(
    ("raw", "left_out"),
    [
        (b"port: 8443  # not 443\n", True),
        (b"ports: [80, # plain\n 443]\n", True),
        (b"run: |\n  # a script's own\n  make\n", False),
        (b"colour: '# 12'\nlanguage: C#\n", False),
    ],
)
def test_only_comments_of_the_yaml_itself_are_noted(raw: bytes, left_out: bool) -> None:
    assert load_yaml(raw, "a.yaml").notes == (("left out: comments",) if left_out else ())


# each line names the one before it nine times
GROWING = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (name, name, b",".join([b"*%c" % (name - 1)] * 9)) for name in b"bcdefgh"
)


@pytest.mark.parametrize(
    ("name", "raw", "reason"),
    [
        ("a.json", b"", "empty"),
        ("a.json", b"[]", "empty"),
        ("a.json", b'{"a": 1', r"not valid JSON \(Expecting ',' delimiter: line 1 column 8 .*: correct it"),
        ("a.json", b'{"a": 1}\n{"b": 2}', "if each line is an object of its own, call it .jsonl"),
        ("a.json", b"[" * 100_000, "nested deeper than 100"),
        ("a.json", b'{"a":' * 200 + b"1" + b"}" * 200, "nested deeper than 100"),
        ("a.yaml", b"a: b: c", "not valid YAML .mapping values are not allowed in this context: line 1, column 5"),
        ("a.yml", b"a: &a [*a]", "not valid YAML .*recursive"),
        ("a.yml", b"a: &a {x: *a}", "not valid YAML .*recursive"),
        ("a.yaml", b"- " * 5000 + b"x", "nested deeper|not valid YAML"),
        ("a.yaml", GROWING, "more than [0-9,]+ characters come of its"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, name: str, raw: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(LoadError, match=reason):
        load_file(tmp_path / name)
