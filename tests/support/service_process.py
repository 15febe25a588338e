"""A service in a process of its own, on a free port of this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType


class ServiceProcess:
    """`retrivex serve` over a database, until the block ends.

    Parameters
    ----------
    folder : in which it runs; its log is `log.txt` there
    arguments : of the command
    **environment : settings
    """

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.folder = folder
        self._command = [sys.executable, "-m", "retrivex", "serve", "--port", "0", *arguments]
        (folder / "options.toml").write_text('tokenizer = "estimate"\n', encoding="utf-8")
        given = {"RETRIVEX_CONFIG": str(folder / "options.toml"), "RETRIVEX_KEYS": str(folder / "keys.db")}
        self._environment = {**os.environ, **given, **environment}
        self.address = ""

    def __enter__(self) -> ServiceProcess:
        with (self.folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(
                self._command, cwd=self.folder, env=self._environment, stdout=subprocess.PIPE, stderr=log, text=True,
                start_new_session=True,
            )  # fmt: skip
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = re.search(r"on (http://\S+)$", line)
            if found:
                self.address = found[1]
                break
        self._wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def kill(self) -> None:
        """End it at once, with all its workers."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def log(self) -> str:
        """Return what it has logged."""
        return (self.folder / "log.txt").read_text(encoding="utf-8")

    def _wait(self) -> None:
        for _ in range(600):
            assert self.process.poll() is None, self.log()
            try:
                with urllib.request.urlopen(f"{self.address}/healthz", timeout=60):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(self.log())
