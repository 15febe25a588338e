"""Merging of windows that overlap or touch, and the interval graph they form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from retrivex.model.window import Window

if TYPE_CHECKING:
    import networkx as nx


def merge_windows(windows: Iterable[Window]) -> list[Window]:
    """Join windows that touch or overlap: the connected components of their interval graph.

    One sorted sweep, O(n log n). Empty windows vanish. The result is sorted by document and start, so it does
    not depend on the order of the input.

    Examples
    --------
    >>> merge_windows([Window("d", 84, 87), Window("d", 5, 8), Window("d", 7, 9), Window("d", 87, 88)])
    [Window(doc_id='d', start=5, end=9), Window(doc_id='d', start=84, end=88)]
    """
    merged: list[Window] = []
    doc_id, start, end = "", 0, -1
    for window_doc, window_start, window_end in sorted((w.doc_id, w.start, w.end) for w in windows if w.end > w.start):
        if end >= 0 and window_doc == doc_id and window_start <= end:
            end = max(end, window_end)
            continue
        if end >= 0:
            merged.append(Window(doc_id, start, end))
        doc_id, start, end = window_doc, window_start, window_end
    if end >= 0:
        merged.append(Window(doc_id, start, end))
    return merged


def interval_graph(windows: Sequence[Window]) -> nx.Graph[Window]:
    """Return the interval graph of `windows`: nodes are windows, edges join those that overlap or touch.

    An edge's `kind` is `overlap` (they share a chunk) or `adjacent` (one begins where the other ends). The
    connected components are what `merge_windows` joins; a property test holds the two equal.

    Examples
    --------
    >>> graph = interval_graph([Window("d", 0, 3), Window("d", 3, 5), Window("e", 0, 3)])
    >>> [data["kind"] for _, _, data in graph.edges(data=True)]
    ['adjacent']
    """
    import networkx as nx  # noqa: PLC0415 - a third of what importing retrivex would cost, and few ask for a graph

    graph: nx.Graph[Window] = nx.Graph()
    live = sorted({w for w in windows if w.end > w.start}, key=lambda w: (w.doc_id, w.start, w.end))
    graph.add_nodes_from(live)
    active: list[Window] = []
    for window in live:
        active = [other for other in active if other.doc_id == window.doc_id and other.end >= window.start]
        for other in active:
            graph.add_edge(other, window, kind="overlap" if other.end > window.start else "adjacent")
        active.append(window)
    return graph


def window_coverage(chunk_ids: Iterable[int]) -> list[tuple[int, int]]:
    """Group chunk ids into maximal runs, as inclusive `(first, last)` pairs.

    Examples
    --------
    >>> window_coverage([85, 411, 420, 86, 7, 6])
    [(6, 7), (85, 86), (411, 411), (420, 420)]
    """
    runs = merge_windows(Window("", chunk_id, chunk_id + 1) for chunk_id in set(chunk_ids))
    return [(run.start, run.end - 1) for run in runs]
