from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from retrivex.errors import LoadError
from retrivex.loading import html_to_markdown
from retrivex.loading.html import MAX_DEPTH, load_html


def check(html: str, markdown: str) -> None:
    assert html_to_markdown(html) == dedent(markdown).strip("\n") + "\n"


def test_headings_and_paragraphs() -> None:
    check(
        "<h1>Bees <em>&amp;</em>\n wasps</h1>Loose text<p>One  paragraph<br>in two lines<p>Two<h6>Deep</h6>",
        """
        # Bees & wasps

        Loose text

        One paragraph
        in two lines

        Two

        ###### Deep
        """,
    )


def test_nested_lists() -> None:
    check(
        """<ul><li>one<ul><li>one a<ol start="9"><li>deep</li><li>deeper</li></ol></li></ul></li>
        <li><p>two</p><p>more of two</p></li><li>three</ul><p>after""",
        """
        - one
          - one a
            9. deep
            10. deeper
        - two

          more of two

        - three

        after
        """,
    )


def test_table_with_header() -> None:
    check(
        """<table><caption>Hours</caption><thead><tr><th>Bee<th>Sleep | rest</tr></thead>
        <tr><td>honey<td>5<br>hours</tr><tr><td colspan=2>all others</tr></table>""",
        r"""
        Hours

        | Bee | Sleep \| rest |
        | --- | --- |
        | honey | 5 hours |
        | all others |  |
        """,
    )


def test_a_cell_over_several_rows_is_repeated_in_each() -> None:
    check(
        """<table><tr><th>Year<th>Bee<th>Hours<tr><td rowspan=2>2024<td>honey<td>5<tr><td>mason<td>8</table>""",
        """
        | Year | Bee | Hours |
        | --- | --- | --- |
        | 2024 | honey | 5 |
        | 2024 | mason | 8 |
        """,
    )


def test_a_table_of_names_and_values_has_no_header_row() -> None:
    check(
        "<table><tr><th>Order<td>Hymenoptera<tr><th>Legs<td>6</table>",
        """
        |  |  |
        | --- | --- |
        | Order | Hymenoptera |
        | Legs | 6 |
        """,
    )


def test_tables_for_the_layout_are_not_tables() -> None:
    check(
        """<table><tr><td>menu</td><td><table><tr><td><h2>Story</h2>One.<br><br>Two.</td></tr></table></td></table>
        <table role=presentation><tr><td>left<td>right</table>""",
        """
        menu

        ## Story

        One.

        Two.

        left

        right
        """,
    )


def test_code_blocks_keep_every_space() -> None:
    check(
        """<div class="highlight"><pre><code class="language-python">def f():
    return "```" &lt; <b>3</b>

x = 1  </code></pre></div><p>Call <code>f(a|b)</code>, <code>a`b</code>.""",
        """
        ````python
        def f():
            return "```" < 3

        x = 1
        ````

        Call `f(a|b)`, ``a`b``.
        """,
    )


def test_code_in_a_list_and_a_quotation() -> None:
    check(
        "<ol><li>Run<pre>make\n  test</pre></ol><blockquote><p>Sleep<p>well</blockquote>",
        """
        1. Run

           ```
           make
             test
           ```

        > Sleep

        > well
        """,
    )


def test_headings_stand_outside_lists() -> None:
    check(
        "<ul><li><h3>Story</h3><p>text</ul>",
        """
        ### Story

        - text
        """,
    )


def test_entities_are_decoded() -> None:
    check("<p>caf&eacute; &#x2603;&nbsp;&lt;b&gt; &amp;amp; soft&shy;ly", "café ☃ <b> &amp; softly")


def test_scripts_navigation_and_hidden_parts_are_left_out() -> None:
    check(
        """<!doctype html><head><title>no</title><style>p{}</style></head><body hidden>
        <nav><a href="/">Home</a></nav><script>var a = "<p>no</p>";</script><noscript>no</noscript>
        <template>no</template><div hidden>no<p hidden>no</p></div><div style="color:red; DISPLAY: none">no</div>
        <p aria-hidden="true">no<!-- no --><button>no</button><h2>Yes<a class="headerlink" href="#x">¶</a></h2>
        <p>A <a href="https://example.org">link</a> and <img alt="a bee" src="https://example.org/x.png">.""",
        """
        ## Yes

        A [link](https://example.org) and a bee.
        """,
    )


@pytest.mark.parametrize(
    "deleted",
    ["<del>40</del>", "<s>40</s>", "<strike>40</strike>", '<span style="text-decoration: line-through">40</span>'],
)
def test_deleted_text_is_gone_and_inserted_text_stays(deleted: str) -> None:
    page = f"<p>Price: {deleted} <ins>30</ins> euros</p><table><tr><td>Price<td>{deleted} 30</table>"
    check(page + f"<pre>a\n{deleted}b</pre>", "Price: 30 euros\n\n| Price | 30 |\n| --- | --- |\n\n```\na\nb\n```")
    assert load_html(page.encode(), "a.html").notes == ("left out: deleted text",)


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ('<a href="g.html">the guide</a><img alt="Chart"><b>Now</b>', "[the guide](g.html) Chart Now"),
        ("<b>Name</b><i>Town</i>", "Name Town"),
        ("<span>Price</span><code>x</code><span>y</span>", "Price `x` y"),
        ("a<img alt='bee'>b", "a bee b"),
        ("<b>un</b>believable H<sub>2</sub>O, a<wbr>b", "unbelievable H2O, ab"),
        ("<b>requests.</b><b>get</b><i>(</i><i>url</i>", "requests.get(url"),
        ("<b>東</b><i>京</i>", "東京"),
    ],
)
def test_words_of_neighbouring_elements_stay_apart(html: str, markdown: str) -> None:
    check(f"<p>{html}</p>", markdown)


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ('See<a href=" a.html "> the <b>guide</b> </a>now.', "See [the guide](a.html) now."),
        ('<a href="a b(1).html">x [1]</a>', r"[x \[1\]](<a b(1).html>)"),
        ('<a href="a.html"><code>f()</code></a>s', "[`f()`](a.html)s"),
        (
            '<a href="#top">up</a> <a href="javascript:x()">do</a> <a href="mailto:a@b">mail</a> <a>name</a>',
            "up do mail name",
        ),
        ('<a href="a.html"><img src="x.png"></a>x', "x"),
        ('<a href="a.html"><img alt="Logo"></a>', "[Logo](a.html)"),
        ('<h2>Sleep<a href="#sleep">§</a></h2>', "## Sleep"),
        ('<h2><a href="a.html">Sleep</a></h2>', "## [Sleep](a.html)"),
        ('<a href="a.html"><h2>Sleep</h2><p>At night.</p></a>', "## Sleep\n\nAt night."),
        ('<table><tr><td><a href="a.html">a|b</a><td>c</table>', "| [a\\|b](a.html) | c |\n| --- | --- |"),
    ],
)
def test_links_to_pages_stay(html: str, markdown: str) -> None:
    check(html, markdown)


PAGE = """<header><h1>Bees</h1><form><input><button>Search</button></form></header>
<div class="cookie-banner">We use cookies.</div><nav>Home</nav>{0}<footer>(c) ACME</footer>"""


@pytest.mark.parametrize(
    ("body", "markdown", "left_out"),
    [
        (
            "<p>They sleep.<section id=cookies><p>Cookies are sweet.<footer>Ann</footer></section>",
            "# Bees\n\nThey sleep.\n\nCookies are sweet.\n\nAnn",
            "navigation, form controls, cookie notices, footers",
        ),
        (
            "<div>Popular today</div><main><p>They sleep.</main><aside>More</aside>",
            "# Bees\n\nThey sleep.",
            "navigation, form controls, cookie notices, footers, what is outside its main part",
        ),
        (
            "<main>menu</main><p>They sleep in the night, and most of them at home.",
            "# Bees\n\nmenu\n\nThey sleep in the night, and most of them at home.",
            "navigation, form controls, cookie notices, footers",
        ),
    ],
)
def test_what_is_not_about_the_subject_is_left_out_with_a_note(body: str, markdown: str, left_out: str) -> None:
    page = PAGE.format(body)
    check(page, markdown)
    assert load_html(page.encode(), "a.html").notes == (f"left out: {left_out}",)


@pytest.mark.parametrize(
    "line",
    [
        *("# no heading", "- no item", "+ x", "1. no item", "2) no item", "> no quote", "| no | table |"),
        *("```", "~~~", "---", "===", "* * *", "<script>", "<!-- x"),
    ],
)
def test_text_that_looks_like_markdown_stays_text(line: str) -> None:
    escaped = line.replace("&", "&amp;").replace("<", "&lt;")
    markdown = html_to_markdown(f"<p>before<br>{escaped}</p><p>{escaped}</p><h2>after</h2>")
    tokens = [token.type for token in MarkdownIt("commonmark").enable("table").parse(markdown)]
    expected = ["paragraph_open", "inline", "paragraph_close"] * 2 + ["heading_open", "inline", "heading_close"]
    assert tokens == expected


@pytest.mark.parametrize(
    "html",
    [
        "<p>a<b>b<p>c</b><table><td>d<p>e</table></ul></li><li>f",
        "<div><<>></div <p>a",
        "<table><caption><tr></table>a<tr><td>b",
        "<li>a<li>b</ol><ul>c<li>",
        "<code>a<p>b</p><h2>c</h2>",
        "<a href='x>a",
        "<h1>a<div>b</h1>c",
        "<select><option>a<ul><li>b",
        "\ud7ff<frameset>a",
    ],
)
def test_broken_markup_is_read(html: str) -> None:
    assert isinstance(html_to_markdown(html), str)


NAMES = "p div ul ol li table tr td th thead caption pre code h1 h3 blockquote br img b a span script dl dt nav"
TAGS = NAMES.split()
PIECE = st.sampled_from(
    [f"<{t}>" for t in TAGS] + [f"</{t}>" for t in TAGS] + [" ", "\n", "&lt;", "|", "#", "`", "x y"]
)


@given(st.lists(PIECE, max_size=40).map("".join))
def test_any_soup_gives_tidy_text(html: str) -> None:
    markdown = html_to_markdown(html)
    assert markdown == "" or (markdown.endswith("\n") and markdown.strip())
    assert not markdown.startswith("\n")


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), min_size=1, max_size=8), st.sampled_from(TAGS))
def test_no_word_is_lost_in_visible_markup(words: list[str], tag: str) -> None:
    html = "".join(f"<{tag}>{word}</{tag}> " for word in words if tag not in {"script", "nav"})
    found = [w for w in ("alpha", "beta", "gamma", "delta") for _ in range(html_to_markdown(html).count(w))]
    assert sorted(found) == sorted(words if tag not in {"script", "nav"} else [])


def test_deep_nesting_is_read_up_to_a_limit() -> None:
    deep = MAX_DEPTH - 1
    assert html_to_markdown("<div>" * deep + "x" + "</div>" * deep) == "x\n"
    with pytest.raises(LoadError, match="nested deeper than 1000"):
        html_to_markdown("<div>" * 100_000)


def test_tags_in_scripts_and_comments_do_not_count_as_nesting() -> None:
    script = "<script>" + "'<div>'" * 5000 + "</script><!--" + "<div>" * 5000 + "-->"
    assert html_to_markdown(script + "<p>x" * 5000).count("x") == 5000


def test_a_huge_span_does_not_make_a_huge_table() -> None:
    cell = "<td colspan=999999999 rowspan=999999999>x</td><td>y</td>"
    assert len(html_to_markdown(f"<table><tr>{cell}</tr></table>")) < 2000


def test_document_has_title_source_and_format() -> None:
    document = load_html(b"<title> Bees &amp;\n wasps </title><h1>Other</h1>", "bees.html", "/x/bees.html").document
    assert (document.title, document.format, document.source) == ("Bees & wasps", "markdown", "/x/bees.html")
    assert load_html(b"<h1>A <i>heading</i></h1>", "a.html").document.title == "A heading"
    assert load_html(b"<p>text", "a.html").document.title is None


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<meta charset=koi8-r><p>Пчёлы".encode("koi8-r"), "Пчёлы"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><p>蜂'.encode("shift_jis"), "蜂"),
        ('<?xml version="1.0" encoding="iso-8859-2"?><p>Včely'.encode("iso-8859-2"), "Včely"),
        ("<meta charset=utf-16><p>Füße".encode(), "Füße"),
        (b"\xef\xbb\xbf<meta charset=latin1><p>F\xc3\xbc\xc3\x9fe", "Füße"),
        ("<p>Füße".encode("utf-16"), "Füße"),
    ],
)
def test_charset_comes_from_the_mark_or_the_page(raw: bytes, text: str) -> None:
    assert load_html(raw, "a.html").document.text == text + "\n"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [(b"", "no text is left"), (b"<script>x</script><nav>y</nav>", "no text is left"), (b"<p>a\0", "NUL")],
)
def test_pages_without_text_are_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        load_html(raw, "a.html")


@pytest.mark.parametrize("raw", [b"\x1c", b"<p>\x1c\x1d</p>", "<p>\u2028</p>".encode()])
def test_separators_alone_are_no_text(raw: bytes) -> None:
    with pytest.raises(LoadError, match="no text is left"):
        load_html(raw, "page.html")
