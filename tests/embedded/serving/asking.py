"""Send requests to the API in this process, without a port."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.embedded.serving.requests import Reply, ServedRequest
from tests.embedded.clients import worlds

Doc = dict[str, Any]

APPLY = "application/apply-patch+yaml"


class Asking:
    """The API of a recorded cluster and requests of an administrator. `moving`: with controllers at work."""

    def __init__(self, name: str = "small-traps", *, moving: bool = False) -> None:
        self.api: Api = worlds.api_of(name, ManualTime(), worlds.QUICK if moving else None)

    def reply(self, method: str, path: str, body: object = None, **headers: str) -> Reply:
        url = urlsplit(path)
        query = {key: tuple(values) for key, values in parse_qs(url.query).items()}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given["authorization"] = f"Bearer {worlds.ADMIN_TOKEN}"
        sent = b"" if body is None else json.dumps(body).encode()
        reply = self.api.handle(ServedRequest(method, url.path, query, given, sent))
        assert list(self.api.internal_errors) == []
        return reply

    def ask(self, method: str, path: str, body: object = None, code: int = 200, **headers: str) -> Doc:
        """The answer, which must have that status code."""
        reply = self.reply(method, path, body, **headers)
        answer: Doc = json.loads(reply.body)
        assert reply.status == code, answer
        return answer

    def create(self, path: str, body: object) -> Doc:
        return self.ask("POST", path, body, 201)

    def apply(self, path: str, body: object, manager: str, code: int = 200) -> Doc:
        return self.ask("PATCH", f"{path}?fieldManager={manager}", body, code, content_type=APPLY)

    def pass_s(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.api.run_locked(lambda plane: plane.virtual_time.run_until(plane.virtual_time.seconds + seconds))
