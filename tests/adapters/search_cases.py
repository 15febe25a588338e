"""What both search engines must do; `test_elasticsearch.py` and `test_opensearch.py` bring client and classes."""

from __future__ import annotations

from search_hits import HitCases
from search_kit import EXACT, Kit, SearchContract
from search_mappings import MappingCases
from search_requests import RequestCases
from search_scans import RecordCases

__all__ = ["EXACT", "Kit", "SearchCases", "SearchContract"]


class SearchCases(HitCases, MappingCases, RequestCases, RecordCases):
    """All that is tested beside the contract."""
