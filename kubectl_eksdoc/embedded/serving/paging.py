"""Continue tokens: where a list in pages goes on, and of which version.

Source: apiserver pkg/storage/continue.go (EncodeContinue, DecodeContinue).
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from kubectl_eksdoc.core.rules.api.statuses import bad_request
from kubectl_eksdoc.embedded.serving.go_json import syntax_error

_FORMAT = "meta.k8s.io/v1"

ANY_VERSION = -1
"""A token of this version goes on with whatever is there by then."""


@dataclass(frozen=True, slots=True)
class Token:
    """`start` is the path (see `store.path_of`) of the last object of the page before, below what is listed: of a list
    of one namespace it is a name."""

    version: int
    start: str


def encode(token: Token, rooted: bool) -> str:
    """`rooted`: as a watch cache writes it, with a slash in front; etcd's own has none."""
    start = f"{'/' if rooted else ''}{token.start}\0"
    text = json.dumps({"v": _FORMAT, "rv": token.version, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(text: str) -> Token:
    """
    Raises:
        Refusal: 400, it is none of ours.
    """
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        wrong = syntax_error(raw)
        said = {} if wrong else json.loads(raw)
        version, start, form = said.get("rv"), said.get("start"), said.get("v")
    except (ValueError, AttributeError, binascii.Error) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    if wrong:
        raise bad_request(f"invalid continue token: continue key is not valid: {wrong}")
    if form != _FORMAT or not isinstance(version, int) or not isinstance(start, str) or version == 0:
        raise bad_request("invalid continue token: continue key is not valid: server does not recognize it")
    return Token(version, start.rstrip("\0").removeprefix("/"))
