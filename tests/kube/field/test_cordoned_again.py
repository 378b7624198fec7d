"""What a person cordoned since, when nobody of this tool was looking, is theirs: a rollback does not uncordon it."""

from __future__ import annotations

import json
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer, serving
from kubectl_eksdoc.kube.field.live import LiveRunField
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus
from kubectl_eksdoc.model.acts import Cordon, Restore
from tests.embedded.clients import worlds
from tests.kube.field.fields import RUN, answer_to, connection, node_of
from tests.kube.field.test_cordons import notes, some_node


def by_a_person(server: SimulatedApiServer, name: str, unschedulable: bool) -> None:
    """As kubectl cordon and uncordon do."""
    request = urllib.request.Request(
        f"{server.url(worlds.ADMIN_TOKEN)}/api/v1/nodes/{name}",
        json.dumps({"spec": {"unschedulable": unschedulable or None}}).encode(),
        {"Content-Type": "application/strategic-merge-patch+json", "User-Agent": "kubectl/v1.33.0 (linux/amd64)"},
        method="PATCH",
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("again", [True, False], ids=["cordoned-again", "only-looked-at"])
def test_who_cordoned_it_last_is_asked(again: bool, tmp_path: Path) -> None:
    api: Api = worlds.api_of("small-traps", None)
    name, uid = some_node(api)
    with serving(api) as server, closing(LiveRunField(connection(server, tmp_path), RUN)) as field:
        assert answer_to(field, Cordon(name, uid)) == ApiStatus(200)
        if again:
            by_a_person(server, name, False)
        by_a_person(server, name, True)  # changes nothing where it is cordoned still
        assert answer_to(field, Restore(name, uid)) == ApiStatus(200)
    assert bool(node_of(api, name)["spec"].get("unschedulable")) is again
    assert not notes(api, name)
