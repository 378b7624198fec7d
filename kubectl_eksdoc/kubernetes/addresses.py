"""Addresses as they are printed and stored: without user information, tokens and parameters.

Sources: RFC 3986 (authority, query); kubectl prints the user information of a URL without its password.
"""

from __future__ import annotations

import re

AS = "/as/"
"""A path of a rehearsal's server begins with it; the user's token follows."""

_TOKEN = re.compile(rf"{AS}([^/\s?#'\"<>]+)")
_AUTHORITY = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[\w.~-]*)(?::\d*)?")
_URL = re.compile(r"(?i)(?<![a-z0-9+.-])[a-z0-9+.-]+://[^\s'\"<>]+")
"""Looked for from the beginning of a word alone: otherwise a long word takes the square of its length."""


def address(url: str) -> str:
    """`url` as a message, a journal and a snapshot may have it."""
    return _TOKEN.sub("", re.split(r"[?#]", without_user(url), maxsplit=1)[0])


def addresses_in(text: str) -> str:
    """A text of a library, a server or a proxy, with each URL in it as `address` prints it."""
    return _TOKEN.sub("", _URL.sub(lambda found: address(found.group()), text))


def token_in(url: str) -> str:
    """Of the path of a rehearsal's server, "" of any other."""
    found = _TOKEN.search(url)
    return found.group(1) if found else ""


def without_user(url: str) -> str:
    """Without user information alone. A password may have signs that a URL would need to escape."""
    scheme, there, rest = url.partition("://")
    if not there:
        scheme, rest = "", url
    end = re.search(r"[/?#]|\Z", rest)
    assert end is not None
    authority, path = rest[: end.start()], rest[end.start() :]
    authority = authority.rpartition("@")[2]
    if "@" in path:  # a part of a password, as it seems
        authority = authority if _AUTHORITY.fullmatch(authority) else path.rpartition("@")[2]
        path = ""
    return f"{scheme}{there}{authority}{path}"
