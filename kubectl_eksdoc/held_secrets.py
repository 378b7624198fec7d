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

MIN_LENGTH = 8
"""Characters. Shorter values are words that also occur in ordinary messages."""

HIDDEN = "…"

_lock = threading.Lock()
_secrets: set[str] = set()


def register_secrets(*secrets: str) -> None:
    """Register secrets, also in the forms of URLs, JSON and basic authentication; values that are too short are
    skipped."""
    variants = {each.strip() for each in secrets}
    variants |= {unquote(each) for each in variants}
    variants |= {quote(each, safe=safe) for each in variants for safe in ("", "/")}
    variants |= {json.dumps(each)[1:-1] for each in variants} | {" ".join(each.split()) for each in variants}
    with _lock:
        _secrets.update(each for each in variants if len(each) >= MIN_LENGTH)


def register_url_login(url: str) -> None:
    """The user information of a URL: its password, and user and password as basic authentication sends them."""
    login = url.partition("://")[2].rpartition("@")[0]
    user, colon, password = login.partition(":")
    if colon:
        pair = f"{unquote(user)}:{unquote(password)}"
        register_secrets(password, base64.b64encode(pair.encode()).decode())


def register_environment_secrets(environ: Mapping[str, str]) -> None:
    """The keys of AWS, and logins in URLs of proxies and endpoints."""
    register_secrets(*(environ.get(name, "") for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")))
    for name, value in environ.items():
        if "@" in value and ("://" in value or name.lower().endswith("_proxy")):
            register_url_login(value if "://" in value else f"://{value}")


def redact_held(text: str) -> str:
    """`text` with HIDDEN in the place of each registered secret."""
    with _lock:
        contained = [each for each in _secrets if each in text]
    for each in sorted(contained, key=len, reverse=True):
        text = text.replace(each, HIDDEN)
    return text
