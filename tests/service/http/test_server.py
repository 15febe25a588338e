from __future__ import annotations

import socket
from pathlib import Path

import pytest

from retrivex.errors import ConfigError

pytestmark = pytest.mark.integration


def test_answers_are_not_held_back_for_a_full_packet(tmp_path: Path) -> None:
    from retrivex.service.server import bind  # noqa: PLC0415 - the extra serve alone has it
    from retrivex.service.settings import Settings  # noqa: PLC0415

    with bind(Settings(port=0, keys=tmp_path / "keys.db")) as door:
        assert door.proto == socket.IPPROTO_TCP  # by which asyncio knows a connection that may go without delay


def test_a_port_that_is_taken_is_one_clear_error(tmp_path: Path) -> None:
    from retrivex.service.server import bind  # noqa: PLC0415
    from retrivex.service.settings import Settings  # noqa: PLC0415

    with bind(Settings(port=0, keys=tmp_path / "keys.db")) as door:
        taken = Settings(port=door.getsockname()[1], keys=tmp_path / "keys.db")
        with pytest.raises(ConfigError, match="choose another port"), bind(taken):
            pass
