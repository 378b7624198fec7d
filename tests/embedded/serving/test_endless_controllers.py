"""A served cluster whose controllers never finish reports that to its clients and to the serving process, and stops."""

from __future__ import annotations

import json

from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.requests import ServedRequest, TokenUsers
from kubectl_eksdoc.simulator.controllers import VirtualTime
from tests.simulator.test_control_plane import restless


class Hours:
    """A clock on which an hour passes with each request."""

    def advance(self, agenda: VirtualTime) -> None:
        agenda.run_until(agenda.seconds + 3600.0)

    def real_s(self, virtual_s: float) -> float:
        return virtual_s


def test_it_is_told_to_clients_and_once_to_who_serves_it() -> None:
    noted: list[str] = []
    api = Api(restless(0.1), ApiSetup(TokenUsers({}), note=noted.append), Hours())
    for _ in range(3):
        reply = api.handle(ServedRequest("GET", "/api/v1/pods"))
        assert reply.status == 500
        said = json.loads(reply.body)["message"]
        assert said.startswith("the simulated cluster does not come to rest: objects of ReplicaSet default/web")
    (note,) = noted
    assert note.startswith(said) and "Rehearse without ReplicaSet default/web" in note
    assert not api.internal_errors
