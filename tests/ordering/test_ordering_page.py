"""Every row of the table of features runs, and gives what stands beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.ordering.strategy import OrderingStrategy

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "explain" / "ordering.md").read_text(encoding="utf-8")
SECTION = (DOCS / "compare" / "orders.md").read_text(encoding="utf-8")
SETUP = re.findall(r"^```python\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)[0]
CELLS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in SECTION.splitlines() if line[:2] == "| "]
ROWS = [row for row in CELLS[1:] if not row[0].startswith("**")]
CALLS = [(what, call.strip("`"), gives.strip("`")) for what, _, call, gives in ROWS if call.startswith("`")]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the page sets up in front of the table."""
    made: dict[str, Any] = {}
    exec(SETUP, made)
    return made


@pytest.mark.parametrize(("what", "call", "gives"), CALLS, ids=[what for what, _, _ in CALLS])
def test_a_row_of_the_table(what: str, call: str, gives: str, names: dict[str, Any], tmp_path: Path) -> None:
    if call.startswith("retrivex "):
        made = on_the_command_line(call, names, tmp_path)
    else:
        made = eval(call, {**names, **imported(what)})
    assert repr(made) == gives


def imported(what: str) -> dict[str, Any]:
    """What a row says that its call needs besides the setup; where its extra is missing, the row is skipped."""
    made: dict[str, Any] = {}
    for line in re.findall("`(from [^`]+ import [^`]+)`", what):
        try:
            exec(line, made)
        except ImportError:
            if not re.search("extra `[a-z]+`", what):
                raise
            pytest.skip(f"needs the {what[what.index('extra') :]}")
    return made


def on_the_command_line(call: str, names: dict[str, Any], folder: Path) -> str:
    """Run a command on a file of the passages; return the ids that come out."""
    path = folder / "passages.json"
    path.write_text(json.dumps(names["passages"]), encoding="utf-8")
    said = [str(path) if part == path.name else part for part in call.split()[1:]]
    return "".join(passage["id"] for passage in json.loads(CliRunner().invoke(app, said).stdout))


def test_rows_without_a_call_say_why() -> None:
    others = [call for _, _, call, _ in ROWS if not call.startswith("`")]
    assert len(CALLS) > 60
    assert all(call.startswith("not needed: ") for call in others)


EXPORTED = """
scoreSpread preserveOrder chronological custom auto startCount endCount groupBy preserveOrderSourceField
customComparator chronologicalOrder autoStrategy detectQueryIntent metadataCoverage resolveAutoStrategy weights
temporalQueryTerms narrativeQueryTerms intentDetector scoreNormalization minScore topK minTopK maxTokens tokenCounter
tokenCounterFactory createTiktokenCounter maxChars charCounter packing scoreClamp deduplicate deduplicateThreshold
deduplicateKeep diversity deduplicateLengthBucketSize deduplicateMaxCandidates trigramSimilarity rerankWithDiversity
reranker rerankerBatchSize onRerankerError createCohereReranker createJinaReranker createVoyageReranker
validationMode maxInputChunks includePriorityScore
includeExplain onDiagnostics reorderWithDiagnostics onTraceStep reorderStream streamingWindowSize reordererPresets
getPreset reorderForDocsQA reorderForChatHistory reorderForLogs serializeChunks deserializeChunks scoreChunks
reorderLangChainPairs
reorderVectorStoreResults ndcg createMetricsHooks keyPointRecall keyPointPrecision spanRecall positionEffectiveness
exactMatch tokenF1 isAnswerable answerabilityMatch citationCoverage faithfulness retrievalRecallAtK evaluateAnswerSet
word_count_threshold top_k atransform_documents
"""


@pytest.mark.parametrize("name", EXPORTED.split())
def test_everything_that_the_other_libraries_export_has_a_row(name: str) -> None:
    assert f"`{name}`" in SECTION


def test_every_order_is_described() -> None:
    listed = PAGE[PAGE.index("## The orders") : PAGE.index("## Position profiles")]
    assert all(f"`{strategy.value}`" in listed for strategy in OrderingStrategy)
