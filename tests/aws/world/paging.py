"""Pages of a list: at most maxResults each, continued by a token that is valid only for the request it was made for."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.aws.world.refused import invalid

_TURNING = ("maxResults", "nextToken")
most = 100
"""A test may make all pages smaller."""


def page(items: Sequence[Any], key: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The page of `items` that the parameters `params` of an EKS request ask for, as {key: […], "nextToken": …}.

    A token that was not given out for the same question is refused, as AWS does.
    """
    size = min(params.get("maxResults") or most, most)
    asked = {name: value for name, value in params.items() if name not in _TURNING}
    start = _start(params["nextToken"], asked) if params.get("nextToken") else 0
    answer: dict[str, Any] = {key: list(items[start : start + size])}
    if start + size < len(items):
        answer["nextToken"] = _token(start + size, asked)
    return answer


def _token(start: int, asked: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps([start, asked], sort_keys=True, default=str).encode()).decode()


def _start(token: str, asked: Mapping[str, Any]) -> int:
    try:
        start, of = json.loads(base64.urlsafe_b64decode(token))
    except (binascii.Error, ValueError):
        start, of = -1, None
    if start < 0 or of != json.loads(json.dumps(asked, default=str)):
        raise invalid("Invalid nextToken")
    return int(start)
