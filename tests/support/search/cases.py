"""What both search engines must do; `test_elasticsearch.py` and `test_opensearch.py` bring client and classes."""

from __future__ import annotations

from support.search.hits import HitCases
from support.search.kit import EXACT, Kit, SearchContract
from support.search.mappings import MappingCases
from support.search.requests import RequestCases
from support.search.scans import RecordCases

__all__ = ["EXACT", "Kit", "SearchCases", "SearchContract"]


class SearchCases(HitCases, MappingCases, RequestCases, RecordCases):
    """All that is tested beside the contract."""
