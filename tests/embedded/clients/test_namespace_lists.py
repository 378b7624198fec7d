"""Revisions that the served cluster's own controllers make, read as documents, tell what an update took."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from kubectl_eksdoc.addon_diff.aftermath.timeline import (
    TemplateRevisions,
    TemplateUpdateStep,
    slots,
    step_at,
    templates_of,
)
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.kube.single_objects import NamespaceLists
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon.stand_in import hands
from tests.addon.stand_in.pod_template import INIT
from tests.addon.stand_in.served import Served
from tests.addon.stand_in.service import AddonService
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

DEMUX = "DISABLE_TCP_EARLY_DEMUX"


def held(connection: Connection, live: Doc) -> TemplateRevisions:
    found = NamespaceLists(connection).listed(kinds.CONTROLLER_REVISIONS, "kube-system")
    assert not isinstance(found, Unknown), found
    return templates_of(live, found)


def waited_for(connection: Connection, objects: Served) -> TemplateRevisions:
    """Until the DaemonSet's controller has kept what the DaemonSet is now; its time is much faster than the wall's."""
    ends_s = time.monotonic() + 30.0
    while time.monotonic() < ends_s:
        live = objects.get("DaemonSet", "aws-node")
        assert live is not None
        found = held(connection, live)
        if found.kept and _demux(found.kept[-1].doc) == _demux(live["spec"]["template"]):
            return found
        time.sleep(0.02)
    raise AssertionError(f"{len(found.kept)} revisions, and none of what it is now")


def _demux(template: Doc) -> object:
    return hands.env_of({"spec": {"template": template}}, INIT)[DEMUX]


def test_what_the_controller_keeps_tells_what_an_update_took(tmp_path: Path) -> None:
    with worlds.served("rich") as (server, _):
        url = server.url()
        connection = Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN)))
        objects = Served(url.rstrip("/"), worlds.ADMIN_TOKEN)
        service = AddonService(objects, "v1.19.5-eksbuild.1")
        waited_for(connection, objects)
        hands.patches_init_env(objects, DEMUX, "1")
        assert waited_for(connection, objects).kept[-1].created is not None
        assert service.update("v1.16.0-eksbuild.1", resolve_conflicts="OVERWRITE").status == "Successful"
        after = waited_for(connection, objects)
    began = after.kept[-1].created
    assert isinstance(began, datetime) and began.tzinfo is timezone.utc and not after.unreadable
    step = step_at(slots(after), began, "v1.16.0-eksbuild.1", True)
    assert isinstance(step, TemplateUpdateStep), step
    assert [_demux(each.doc) for each in (step.before, step.after)] == ["1", "false"]


def test_a_list_in_pages_is_the_whole_list(tmp_path: Path) -> None:
    with worlds.served("rich", ManualTime(), pace=None) as (server, _):
        connection = Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN)))
        whole, paged = (
            NamespaceLists(replace(connection, page_size=size)).listed(kinds.REPLICA_SETS, "kube-system")
            for size in (500, 1)
        )
    assert whole == paged and not isinstance(whole, Unknown) and len(whole) > 1
    assert {doc["kind"] for doc in whole} == {"ReplicaSet"}
    assert {doc["metadata"]["namespace"] for doc in whole} == {"kube-system"}
