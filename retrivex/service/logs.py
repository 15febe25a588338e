"""Logs as lines of JSON: what was asked for, by which key, how it ended. Nothing of a document, a question or a key."""

from __future__ import annotations

import json
import logging
import time
import traceback
from types import TracebackType
from typing import Any

LOGGER = logging.getLogger("retrivex.service")

_FRAMES = 12
_QUOTING = frozenset(("mcp", "asyncio", "python_multipart"))
"""Loggers whose messages may quote a request: of their records only the place is written."""


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON; of an error its type and where it came from, never what it says."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage() if record.name.partition(".")[0] not in _QUOTING else record.name,
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["at"] = describe_place(record.exc_info[2])
        return json.dumps(line)


def describe_place(trace: TracebackType | None) -> list[str]:
    """Return the last frames of a traceback, `file:line function`: what an error says may quote a document."""
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)[-_FRAMES:]]


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JsonFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "loggers": {
        "retrivex.service": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        **{
            name: {"handlers": ["stderr"], "level": "WARNING", "propagate": False}
            for name in ("uvicorn", *sorted(_QUOTING))
        },
    },
}
"""For `logging.config`: the logs of the service and of its server go to standard error."""
