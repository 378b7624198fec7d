"""Continue tokens: where a list in pages goes on, and of which version.

Source: apiserver pkg/storage/continue.go (EncodeContinue, DecodeContinue).
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from kubectl_eksdoc.core.rules.api.statuses import bad_request

_FORMAT = "meta.k8s.io/v1"

ANY_VERSION = -1
"""A token of this version goes on with whatever is there by then."""


@dataclass(frozen=True, slots=True)
class Token:
    """`start` is the path (see `store.path_of`) of the last object of the page before."""

    version: int
    start: str


def encode(token: Token) -> str:
    text = json.dumps({"v": _FORMAT, "rv": token.version, "start": f"{_rooted(token.start)}\0"}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(text: str) -> Token:
    """
    Raises:
        Refusal: 400, it is none of ours.
    """
    try:
        said = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        version, start, form = said["rv"], said["start"], said["v"]
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    if form != _FORMAT or not isinstance(version, int) or not isinstance(start, str) or version == 0:
        raise bad_request("invalid continue token: continue key is not valid: server does not recognize it")
    start = start.rstrip("\0").removeprefix("/")
    return Token(version, start if "/" in start else f"/{start}")  # what has no namespace is one name


def _rooted(path: str) -> str:
    return "/" + path.removeprefix("/")
