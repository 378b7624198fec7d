"""Read and write the add-on's objects over HTTP, as any client of an API server does it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc

_PLACES = {"DaemonSet": "apis/apps/v1", "Deployment": "apis/apps/v1", "PodDisruptionBudget": "apis/policy/v1"}
_APPLY, _STRATEGIC = "application/apply-patch+yaml", "application/strategic-merge-patch+json"


@dataclass(frozen=True)
class Served:
    """`Objects` of the API server at `url` (without a trailing slash), with a bearer token."""

    url: str
    token: str

    def get(self, kind: str, name: str) -> Doc | None:
        code, body = self._ask("GET", kind, name)
        assert code in (200, 404), body
        return body if code == 200 else None

    def apply(self, config: Doc, manager: str, *, force: bool = False, dry_run: bool = False) -> tuple[str, ...]:
        query = f"fieldManager={manager}&force={str(force).lower()}{'&dryRun=All' if dry_run else ''}"
        code, body = self._ask("PATCH", config["kind"], config["metadata"]["name"], query, config, _APPLY)
        if code == 409:
            return tuple(sorted(cause["field"] for cause in body["details"]["causes"]))
        assert code in (200, 201), body
        return ()

    def patch(self, kind: str, name: str, patch: Doc, manager: str) -> None:
        code, body = self._ask("PATCH", kind, name, f"fieldManager={manager}", patch, _STRATEGIC)
        assert code == 200, body

    def update(self, kind: str, name: str, change: Callable[[Doc], Doc], manager: str) -> None:
        live = self.get(kind, name)
        assert live is not None
        code, body = self._ask("PUT", kind, name, f"fieldManager={manager}", change(live))
        assert code == 200, body

    def _ask(
        self, verb: str, kind: str, name: str, query: str = "", body: Doc | None = None, form: str = "application/json"
    ) -> tuple[int, Any]:
        path = f"{_PLACES.get(kind, 'api/v1')}/namespaces/kube-system/{kind.lower()}s/{name}"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": form}
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}?{query}", sent, headers, method=verb)
        try:
            with urllib.request.urlopen(request) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)
