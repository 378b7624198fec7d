"""Writes in memory give the same result as a server's writes, and rendered charts equal the published manifests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kubectl_eksdoc.model.api_objects import Doc, with_value, without_path
from tests import raw_facts
from tests.addon.stand_in import charts, hands
from tests.addon.stand_in.documents import Documents, Objects
from tests.addon.stand_in.pod_template import AGENT, INIT, MAIN
from tests.addon.stand_in.rendering import Site, rendered
from tests.addon.stand_in.served import Served
from tests.addon.stand_in.service import AddonService, Outcome
from tests.embedded.clients import worlds


@pytest.fixture
def served() -> Iterator[Served]:
    with worlds.served("rich", pace=None) as (server, _):
        yield Served(server.url().rstrip("/"), worlds.ADMIN_TOKEN)


def lived(objects: Objects) -> list[Outcome]:
    """The objects after the incident and the writes that followed it."""
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
    """The object without the fields that the storage generates, and without times."""
    assert doc is not None
    meta = doc["metadata"]
    kept = {key: meta.get(key) for key in ("name", "namespace", "labels", "annotations")}
    timeless = ({k: v for k, v in entry.items() if k != "time"} for entry in meta["managedFields"])
    entries = sorted(timeless, key=lambda entry: str((entry["manager"], entry["operation"])))
    return {**without_path(doc, ("status",)), "metadata": {**kept, "managedFields": entries}}


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


NOWHERE = Site(region="us-west-2", env={})

# Manifests and chart do not say the same everywhere; some releases forgot to count the version up in the chart.
DIFFERENT = {"ANNOTATE_POD_IP", "VPC_CNI_VERSION"}
WITHOUT_PROBE_TIMEOUTS = ("v1.8.0", "v1.9.0", "v1.9.1", "v1.9.3", "v1.10.0")


def daemon_set(chart: str, user: Doc | None = None, site: Site = NOWHERE) -> Doc:
    return rendered(f"{chart}-eksbuild.1", user or {}, site)[-1]


def container(doc: Doc, name: str) -> Doc:
    spec = doc["spec"]["template"]["spec"]
    found: Doc = next(c for c in (*spec["initContainers"], *spec["containers"]) if c["name"] == name)
    return found


def manifest(chart: str) -> dict[str, Any]:
    held: dict[str, Any] = charts.table("vpc-cni-manifests")[chart]
    return held


def names(doc: Doc) -> list[str]:
    return [c["name"] for c in doc["spec"]["template"]["spec"]["containers"]]


@pytest.mark.parametrize("chart", [c for c in charts.versions() if c in charts.table("vpc-cni-manifests")])
def test_a_version_renders_what_its_manifest_has(chart: str) -> None:
    doc, expected = daemon_set(chart), manifest(chart)
    ours = {name: "<fieldRef>" if value is None else value for name, value in hands.env_of(doc).items()}
    theirs = {name: value for name, value in expected[f"cont:{MAIN}"].items() if name not in DIFFERENT}
    assert {name: value for name, value in ours.items() if name not in DIFFERENT} == theirs
    assert hands.env_of(doc, INIT) == expected[f"init:{INIT}"]
    assert (AGENT in names(doc)) == (f"cont:{AGENT}" in expected)
    if AGENT in names(doc):
        assert container(doc, AGENT)["args"] == expected[f"args:{AGENT}"]
    for probe in ("livenessProbe", "readinessProbe"):
        made, wanted = container(doc, MAIN)[probe], expected[f"{probe}:{MAIN}"]
        assert made["exec"] == wanted["exec"]
        assert made["initialDelaySeconds"] == wanted["initialDelaySeconds"]
        if chart not in WITHOUT_PROBE_TIMEOUTS:
            assert made.get("timeoutSeconds") == wanted.get("timeoutSeconds")
    spec = doc["spec"]["template"]["spec"]
    said = (doc["spec"]["updateStrategy"], doc["spec"]["selector"], spec["terminationGracePeriodSeconds"])
    assert said == tuple(expected["meta"][key] for key in ("updateStrategy", "labels", "tgps"))
