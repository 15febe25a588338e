"""The manifest of a run: versions, data, settings and machine, so that it can be repeated."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from retrivex import version as own_version
from retrivex.evaluation.questions.evidence import EvidenceSet
from retrivex.version import __version__

SCHEMA = "retrivex.evaluation/1"
"""Name and version of the manifest's form."""

_PACKAGES = ("numpy", "tiktoken", "sentencex", "semantic-text-splitter", "sentence-transformers", "torch")
_MOST_ODD = 1000  # malformed records that are listed; their number is always given
# no row depends on the rest
_APART = ("adapters", "cli", "loading", "prompts", "reorder", "testing")
_MEASURING = ("metrics", "questions", "run")  # of evaluation/


def versions() -> dict[str, str]:
    """Return the versions that results depend on; packages that are not installed are not there."""
    found = {"retrivex": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # an extra
            continue
    return found


@cache
def code_digest() -> str:
    """Return a digest of the code and coefficients that rows depend on: results of other code are other results."""
    package = Path(own_version.__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.json")]):
        parts = path.relative_to(package).parts
        if parts[0] not in _APART and (parts[0] != "evaluation" or parts[1] in _MEASURING):
            digest.update("/".join(parts).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def data_digest(found: EvidenceSet) -> str:
    """Return a digest of all documents and questions of a set."""
    digest = hashlib.sha256()
    for doc_id, text in found.documents.items():
        for part in (doc_id, text):
            raw = part.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "big") + raw)
    for question in found.questions:
        digest.update(json.dumps(asdict(question), sort_keys=True).encode())
    return digest.hexdigest()


def describe_set(name: str, found: EvidenceSet, digest: str, asked: int) -> dict[str, Any]:
    """Return what the manifest says of a set."""
    return {
        "name": name,
        "sha256": digest,
        "documents": len(found.documents),
        "characters": sum(map(len, found.documents.values())),
        "questions": len(found.questions),
        "with_evidence": sum(1 for question in found.questions if question.evidence),
        "with_answers": sum(1 for question in found.questions if question.answers),
        "unanswerable": sum(1 for question in found.questions if not question.evidence and not question.answers),
        "asked": asked,
        "odd": {"count": len(found.odd), "records": list(found.odd[:_MOST_ODD])},
    }
