"""Counts and times for Prometheus, by route and status: no name of a key, a scope or a document is a label."""

from __future__ import annotations

import os
from typing import Any

from retrivex.errors import install_hint

try:
    from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The counters of a worker; where several share a folder, each reports the sums of all."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        route = ("method", "route")
        self._requests = Counter(
            "retrivex_requests", "Requests that were answered.", (*route, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "retrivex_request_seconds", "Time of a request.", route, registry=self._registry, buckets=_SECONDS
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def write(self) -> bytes:
        """Return all counts as Prometheus reads them."""
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # the files of all workers are added up
            registry = CollectorRegistry()
            collect: Any = multiprocess.MultiProcessCollector  # which has no types
            collect(registry)
        written: bytes = generate_latest(registry)
        return written
