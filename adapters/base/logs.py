"""Logs warnings, for which frameworks have no place: the same one once."""

from __future__ import annotations

import logging
from functools import lru_cache

logger = logging.getLogger("retrivex.adapters")


@lru_cache(maxsize=1024)
def log_once(warning: str) -> None:
    """Log a warning that was not logged lately."""
    logger.warning("%s", warning)
