"""What messages, reports and manifests may say of addresses and of those who answer there: nothing secret."""

from __future__ import annotations

import base64
import re
from urllib.parse import parse_qsl, unquote, urlsplit

HIDDEN = "***"
"""Stands where a secret stood."""

_LONGEST = 300  # characters of a user and password in free words

_SCHEME = r"[a-z](?:[a-z0-9+.-]{0,30}://|[a-z0-9+.-]{1,30}:/(?!/))"
"""As it was given, or as a path says it, which has no two slashes; C:/ is none."""

_PORT = r"\d{1,5}(?:[\s/?#:;,.'\")<>\]]|$)"
_WITH_USER = (
    r"(?!\[[0-9a-f:.]+\])"
    # a careless hand writes blanks, quotes and line ends into a password; what is like a port ends the address
    rf"(?:[^\s/@]{{0,{_LONGEST}}}|[^\s/@:]{{0,{_LONGEST}}}:(?!{_PORT})(?:(?!://)[^@]){{0,{_LONGEST}}})@"
    rf"(?:[^\s/@'\"<>]{{0,{_LONGEST}}}@)*"
)
_USER = re.compile(rf"({_SCHEME}|(?<![:\w/])//){_WITH_USER}", re.IGNORECASE)
_USER_OF_ADDRESS = re.compile(rf"([a-z][a-z0-9+.-]{{0,30}}://){_WITH_USER}", re.IGNORECASE)
_BARE_USER = re.compile(rf"(?<![\w/:@.%+~-])[\w.%+~-]{{1,{_LONGEST}}}:[^\s@/'\"<>]{{1,{_LONGEST}}}@(?=[\w\[])")
_ADDRESS = re.compile(
    rf"({_SCHEME})([^\s'\"<>?#]*)([?#](?:=['\"][^'\"\s]+['\"]?|[^\s'\"<>])*(?:\s+[^\s'\"<>=]*=[^\s'\"<>]+)*)?",
    re.IGNORECASE,
)
_PASSWORD = re.compile(
    r"\b(password|pass|passwd|pwd|token|api[-_]?key|secret)(\s*=\s*)('[^']*'|[^\s&;,'\"]+)", re.IGNORECASE
)
_PARAMETER = re.compile(
    r"([?&;#][\w.%+-]{0,40}(?:key(?![a-z])|token|secret|passw|pwd|signature|auth|credential|session|jwt)[\w.%+-]{0,40}=)"
    r"[^\s&;#'\"<>]+",
    re.IGNORECASE,
)
_NEVER = re.compile(r"[\s\x00-\x1f\x7f-\x9f'\"<>]")
_LEAST = 4  # characters of a secret that is looked for in other words: shorter ones are everywhere


def without_credentials(words: str, *, has_names: bool = False) -> str:
    """Return `words` with every address in them reduced to scheme, host, port and path, without parameters.

    What follows `password=` and the like in connection strings is hidden as well.

    Parameters
    ----------
    words : what is said
    has_names : whether addresses may be names of documents, which differ in their parameters alone: they lose user and
        password, and the values of parameters such as `api_key`. Not for what others say

    Examples
    --------
    >>> without_credentials("http://me:secret@host:8080/v1?key=secret cannot be reached")
    'http://host:8080/v1 cannot be reached'
    >>> without_credentials("host=db user=me password=secret")
    'host=db user=me password=***'
    >>> without_credentials("no document 'https://me:secret@host/item?id=18&api_key=secret'", has_names=True)
    "no document 'https://host/item?id=18&api_key=***'"
    """
    if not ("@" in words or "=" in words or ":/" in words):  # as most words: errors of single hits are many
        return words
    if has_names:
        plain = _PARAMETER.sub(rf"\1{HIDDEN}", _USER_OF_ADDRESS.sub(r"\1", words))
    else:
        plain = _BARE_USER.sub(f"{HIDDEN}@", _ADDRESS.sub(_reduce, _USER.sub(r"\1", words)))
    return _PASSWORD.sub(rf"\1\2{HIDDEN}", plain)


def _reduce(found: re.Match[str]) -> str:
    # a semicolon that ends the address belongs to the sentence
    host, slash, path = re.sub(r";.+", "", found[2]).partition("/")
    if "@" in path and "@" not in host:  # a password with a slash in it
        host, slash, path = path.rpartition("@")[2].partition("/")
    host = host.rpartition("@")[2]
    port = host.rpartition(":")[2].rstrip(".,:)]}")
    if found[1].endswith("//") and ":" in host and port and not port.isdigit() and not host.startswith("["):
        host = HIDDEN  # a password that only begins here: no port has letters
    return found[1] + host + slash + path


def find_fault(address: str) -> str | None:
    """Return what keeps an address of an endpoint from being one, without repeating it; None where nothing does.

    Examples
    --------
    >>> find_fault("http://me:very secret@host")[:30]
    'has white space, quotes, angle'
    >>> find_fault("http://host/v1")
    """
    if not _NEVER.search(address):
        return None
    return (
        "has white space, quotes, angle brackets or control characters in it, and is not repeated here, as it may hold "
        "a password: write them as %20 and the like"
    )


class Confidential:
    """An address that may be written down, and the secrets that belong to it.

    Parameters
    ----------
    address : as it was given
    secrets : further ones, such as a key; None counts as none

    Examples
    --------
    >>> place = Confidential("https://me:pass-1@host/v1?token=tok-2", "key-3")
    >>> place.address, place.hide("wrong key key-3 or tok-2")
    ('https://host/v1', 'wrong key *** or ***')
    """

    def __init__(self, address: str, *secrets: str | None) -> None:
        self.address = without_credentials(address)
        found = {*_secrets_in(address), *filter(None, secrets)}
        found |= {ascii(secret)[1:-1] for secret in found}  # as programs quote it, with what they escape
        # the longest first: one may be the beginning of another
        self._secrets = sorted((secret for secret in found if len(secret) >= _LEAST), key=len, reverse=True)

    def hide(self, words: str, most: int | None = None) -> str:
        """Return the first `most` characters of `words` without the secrets, whoever said them, or those of an address.

        They are cut only afterwards: half a secret could not be found.
        """
        for secret in self._secrets:
            words = words.replace(secret, HIDDEN)
        return without_credentials(words)[:most]


def _secrets_in(address: str) -> set[str]:
    try:
        parts = urlsplit(address)
    except ValueError:  # no address: whoever opens it says so
        return set()
    found = {value for _, value in parse_qsl(parts.query)}
    found |= {pair.partition("=")[2] for pair in re.split("[;&?#]", address)[1:]} - {""}
    user = parts.netloc.rpartition("@")[0]
    if user:
        # as it was given, as it was meant, and as it is sent
        found |= {user, *user.split(":", 1), unquote(user), *map(unquote, user.split(":", 1))}
        found.add(base64.b64encode(unquote(user).encode("utf-8", "replace")).decode())
    return found
