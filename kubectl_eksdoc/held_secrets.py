"""Secrets that this process holds (tokens, passwords, keys), and their redaction in messages of other programs.

A server, a proxy, AWS or a plugin may repeat a secret that it was sent in its own message, and a token has no format by
which it could be recognized. So each secret is registered where it is read, and redacted wherever a message of another
program is read.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Mapping
from urllib.parse import quote, unquote

SHORTEST = 8
"""Characters. Shorter values are words that also occur in ordinary messages."""

HIDDEN = "…"

_lock = threading.Lock()
_held: set[str] = set()


def hold(*secrets: str) -> None:
    """Register secrets, also in the forms of URLs, JSON and basic authentication; values that are too short are
    skipped."""
    found = {each.strip() for each in secrets}
    found |= {unquote(each) for each in found}
    found |= {quote(each, safe=safe) for each in found for safe in ("", "/")}
    found |= {json.dumps(each)[1:-1] for each in found} | {" ".join(each.split()) for each in found}
    with _lock:
        _held.update(each for each in found if len(each) >= SHORTEST)


def hold_login(url: str) -> None:
    """The user information of a URL: its password, and user and password as basic authentication sends them."""
    login = url.partition("://")[2].rpartition("@")[0]
    user, colon, password = login.partition(":")
    if colon:
        pair = f"{unquote(user)}:{unquote(password)}"
        hold(password, base64.b64encode(pair.encode()).decode())


def hold_environment(environ: Mapping[str, str]) -> None:
    """The keys of AWS, and logins in URLs of proxies and endpoints."""
    hold(*(environ.get(name, "") for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")))
    for name, value in environ.items():
        if "@" in value and ("://" in value or name.lower().endswith("_proxy")):
            hold_login(value if "://" in value else f"://{value}")


def without_held(text: str) -> str:
    """`text` with HIDDEN in the place of each registered secret."""
    with _lock:
        found = [each for each in _held if each in text]
    for each in sorted(found, key=len, reverse=True):
        text = text.replace(each, HIDDEN)
    return text
