from __future__ import annotations

import stat
from pathlib import Path

import pytest

from retrivex.errors import RetrivexError
from retrivex.service.access import Access
from retrivex.service.errors import AccessError, KeysError, NotFoundError, UnauthorizedError
from retrivex.service.keys import Keys


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "keys.db")


def test_a_key_carries_its_scopes(keys: Keys) -> None:
    info, secret = keys.create("shop", ["acme", None])
    assert keys.find(secret) == Access(info.id, frozenset({"acme", None}))
    assert keys.authorize(f"Bearer {secret}") == keys.find(secret)
    assert [known.name for known in keys.list_all()] == ["shop"]


def test_nobody_needs_a_key_until_there_is_one_and_everybody_from_then_on(keys: Keys) -> None:
    assert keys.authorize(None) == Access()
    assert not keys.path.exists()
    info, _ = keys.create("shop")
    keys.revoke(info.id)
    for header in (None, "", "Bearer", "Bearer x", "Basic x", "Bearer \u00e9"):
        with pytest.raises(UnauthorizedError):
            keys.authorize(header)


def test_a_revoked_key_is_worthless_in_every_process(keys: Keys) -> None:
    info, secret = keys.create("shop")
    other = Keys(keys.path)
    assert other.find(secret).key == info.id
    keys.revoke(info.id)
    with pytest.raises(UnauthorizedError):
        other.find(secret)
    assert keys.list_all()[0].revoked is not None
    for unknown in (info.id, "nobody"):
        with pytest.raises(NotFoundError):
            keys.revoke(unknown)


def test_a_key_that_is_revoked_in_a_file_put_back_from_a_copy_is_worthless(keys: Keys) -> None:
    info, secret = keys.create("shop")
    assert keys.find(secret).key == info.id
    copy = keys.path.with_name("copy.db")
    copy.write_bytes(keys.path.read_bytes())
    copy.replace(keys.path)
    other = Keys(keys.path)
    other.revoke(info.id)
    with pytest.raises(UnauthorizedError):
        keys.authorize(f"Bearer {secret}")


def _good(keys: Keys, secrets: tuple[str, ...]) -> list[bool]:
    found = []
    for secret in secrets:
        try:
            found.append(bool(keys.authorize(f"Bearer {secret}").key))
        except UnauthorizedError:
            found.append(False)
    return found


def test_a_file_written_over_the_one_that_is_served_counts_at_once(keys: Keys) -> None:
    """It has the place, the size and, for SQLite, the number of changes of the one before."""
    made = [keys.create(name) for name in ("one", "two")]
    secrets = (made[0][1], made[1][1])
    base = keys.path.read_bytes()
    contents = []
    for info, _ in made:
        keys.path.write_bytes(base)
        Keys(keys.path).revoke(info.id)
        contents.append(keys.path.read_bytes())
    for content, expected in zip(contents * 2, [[False, True], [True, False]] * 2, strict=True):
        keys.path.write_bytes(content)
        assert _good(keys, secrets) == expected


@pytest.mark.parametrize("left", [None, b"", b"no database"])
def test_nobody_gets_in_where_the_file_of_keys_is_gone(left: bytes | None, keys: Keys) -> None:
    worker = Keys(keys.path)
    assert worker.authorize(None) == Access()
    _, secret = keys.create("shop")
    assert worker.authorize(f"Bearer {secret}").key
    keys.path.unlink()
    if left is not None:
        keys.path.write_bytes(left)
    later = Keys(keys.path, needed=True)  # as a worker that takes the place of one that died
    for one in (worker, later):
        for header in (None, f"Bearer {secret}"):
            with pytest.raises(KeysError, match="file of keys"):
                one.authorize(header)


def test_a_key_that_differs_in_one_letter_is_another(keys: Keys) -> None:
    _, secret = keys.create("shop")
    for wrong in (secret[:-1], secret + "x", secret.swapcase(), secret.replace("rvx", "rvy"), "rvx_" + "0" * 12 + "_x"):
        with pytest.raises(UnauthorizedError) as raised:
            keys.find(wrong)
        assert secret not in str(raised.value)


def test_the_file_holds_no_key_and_is_read_by_its_owner_alone(keys: Keys) -> None:
    _, secret = keys.create("shop")
    held = b"".join(path.read_bytes() for path in keys.path.parent.iterdir())
    assert secret.split("_", 2)[2].encode() not in held
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600


def test_a_key_without_scopes_is_refused(keys: Keys) -> None:
    with pytest.raises(RetrivexError, match="sees nothing"):
        keys.create("shop", [])


@pytest.mark.parametrize(
    ("scopes", "asked", "owner"),
    [
        ({"acme"}, None, "acme"),
        ({"acme", None}, None, None),
        ({"acme", "b"}, "b", "b"),
        (None, "any", "any"),
        (None, None, None),
    ],
)
def test_a_new_document_gets_a_scope_of_its_key(
    scopes: set[str | None] | None, asked: str | None, owner: str | None
) -> None:
    assert Access("k", None if scopes is None else frozenset(scopes)).owner(asked) == owner


def test_a_document_of_a_key_with_several_scopes_needs_one_named() -> None:
    access = Access("k", frozenset({"a", "b"}))
    for asked in (None, "c"):
        with pytest.raises(AccessError):
            access.owner(asked)
