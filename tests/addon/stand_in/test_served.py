"""The same history over HTTP, against the embedded server with a recorded cluster, as in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubectl_eksdoc.model.api_objects import Doc, with_value, without
from tests import raw_facts
from tests.addon.stand_in import hands
from tests.addon.stand_in.documents import Documents, Objects
from tests.addon.stand_in.pod_template import INIT
from tests.addon.stand_in.served import Served
from tests.addon.stand_in.service import AddonService, Outcome
from tests.embedded.clients import worlds


@pytest.fixture
def served() -> Iterator[Served]:
    with worlds.served("rich", pace=None) as (server, _):
        yield Served(server.url().rstrip("/"), worlds.ADMIN_TOKEN)


def lived(objects: Objects) -> list[Outcome]:
    """The incident and what came after it."""
    service = AddonService(objects, "v1.19.5-eksbuild.1")
    outcomes = [service.update("v1.12.6-eksbuild.1", resolve_conflicts="NONE")]
    outcomes.append(service.update("v1.12.6-eksbuild.1", resolve_conflicts="PRESERVE"))
    hands.removes_env(objects, "ENABLE_POD_ENI")
    hands.applies_env(objects, "WARM_ENI_TARGET", "2")
    outcomes.append(service.update("v1.15.1-eksbuild.1", resolve_conflicts="OVERWRITE"))
    objects.update("DaemonSet", "aws-node", _labelled, hands.KUBECTL_EDIT)
    hands.sets_data(objects, "enable-windows-ipam", "true")
    outcomes.append(service.update("v1.16.0-eksbuild.1", resolve_conflicts="NONE"))
    hands.patches_init_env(objects, "DISABLE_TCP_EARLY_DEMUX", "true")
    return outcomes


def _labelled(doc: Doc) -> Doc:
    return with_value(doc, ("metadata", "labels", "team"), "network")


def comparable(doc: Doc | None) -> Doc:
    """Without what storage makes up, and without times."""
    assert doc is not None
    meta = doc["metadata"]
    kept = {key: meta.get(key) for key in ("name", "namespace", "labels", "annotations")}
    timeless = ({k: v for k, v in entry.items() if k != "time"} for entry in meta["managedFields"])
    entries = sorted(timeless, key=lambda entry: str((entry["manager"], entry["operation"])))
    return {**without(doc, ("status",)), "metadata": {**kept, "managedFields": entries}}


def test_a_server_and_plain_documents_end_alike(served: Served) -> None:
    kinds = ("daemonsets", "configmaps", "serviceaccounts")
    docs = (doc for kind in kinds for doc in raw_facts.recorded("rich", kind))
    memory = Documents(*(doc for doc in docs if doc["metadata"]["namespace"] == "kube-system"))
    assert lived(served) == lived(memory)
    for name in (("DaemonSet", "aws-node"), ("ConfigMap", "amazon-vpc-cni"), ("ServiceAccount", "aws-node")):
        assert comparable(served.get(*name)) == comparable(memory.get(*name))
    doc = served.get("DaemonSet", "aws-node")
    assert doc is not None
    assert hands.env_of(doc, INIT)["DISABLE_TCP_EARLY_DEMUX"] == "true"
