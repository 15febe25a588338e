"""Loaders: files and folders become documents; files that cannot be read are reported and skipped."""

from retrivex.loading.files import MAX_BYTES, SUPPORTED_SUFFIXES, load_file
from retrivex.loading.folder import find_files, iter_documents, load_documents
from retrivex.loading.html import html_to_markdown
from retrivex.loading.jsonl import document_from_dict, read_chunks, read_documents
from retrivex.loading.limits import LoadLimits
from retrivex.loading.report import LoadProblem, LoadReport, describe_kinds
from retrivex.model.serialization import chunk_from_dict, chunk_to_dict

__all__ = [
    "MAX_BYTES",
    "SUPPORTED_SUFFIXES",
    "LoadLimits",
    "LoadProblem",
    "LoadReport",
    "chunk_from_dict",
    "chunk_to_dict",
    "describe_kinds",
    "document_from_dict",
    "find_files",
    "html_to_markdown",
    "iter_documents",
    "load_documents",
    "load_file",
    "read_chunks",
    "read_documents",
]
