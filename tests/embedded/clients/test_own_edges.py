"""This project's own clients read the served cluster as its dump: lists, single objects, pods and signs of old API
versions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.revisions import (
    TemplateRevisions,
    TemplateUpdateStep,
    read_revisions,
    template_periods,
    template_step,
)
from kubectl_eksdoc.amazon.written_kinds import kinds_with_removed_versions
from kubectl_eksdoc.embedded.demo.reader import DemoReader
from kubectl_eksdoc.embedded.loading import load_documents, load_observed
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import ServedRequest
from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.kube.api_usage import LiveApiUsage
from kubectl_eksdoc.kube.pod_details import LOG_LINES, MAX_LOG_BYTES, LivePodReader
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.kube.single_objects import NamespaceLists, SingleObjects
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, KindUsage, ManifestText, ObjectName, WriteSource, object_name
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Absent, ReadState, Unknown
from kubectl_eksdoc.model.nodes import Container, LogKey
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.objects.single import RawObjects
from tests.addon.stand_in import hands
from tests.addon.stand_in.pod_template import INIT
from tests.addon.stand_in.served import Served
from tests.addon.stand_in.service import AddonService
from tests.embedded.clients import worlds
from tests.embedded.deprecated_uses import DeprecatedUse, text
from tests.examples import one_in
from tests.fakes import kubeconfigs
from tests.raw_facts import recorded
from tools.demo.upgrade.old_apis import old_apis

AWS_NODE = ObjectName("apps/v1", "DaemonSet", "kube-system", "aws-node")
READ = (kinds.NODES, kinds.PODS, kinds.JOBS, kinds.CRON_JOBS, kinds.DEFINITIONS, kinds.API_SERVICES)


def connected(server: SimulatedApiServer, folder: Path, token: str = worlds.ADMIN_TOKEN, page: int = 500) -> Connection:
    return Connection(kubeconfig=kubeconfigs.one(folder / "config", server.url(token)), page_size=page)


@pytest.mark.parametrize("name", ["small-traps", "rich"])
@pytest.mark.parametrize("page", one_in(2, [7, 2000]))
def test_the_same_facts(name: str, page: int, tmp_path: Path) -> None:
    dumped = DumpReader(str(worlds.archive(name))).read(kinds.ALL)
    with worlds.served(name, ManualTime(), pace=None) as (server, _):
        live = LiveReader(connected(server, tmp_path, page=page)).read(kinds.ALL)
    states = {read.state for read in live.reads if not read.resource.custom}
    assert states == {ReadState.READ}
    assert live.identity.server_version.startswith("v1.36")
    if name == "small-traps":  # the dump has no namespaces; the server needs them
        live = replace(live, namespaces=dumped.namespaces)
    # Facts that are the same for a server and for a dump:
    same = {name: getattr(dumped, name) for name in ("identity", "source", "observed_at", "reads", "notes")}
    assert replace(live, **same) == dumped


def test_an_object_comes_with_its_owners_and_a_list_in_pages_is_the_whole_list(tmp_path: Path) -> None:
    dumped = next(item for item in recorded("rich", "daemonsets") if item["metadata"]["name"] == "aws-node")
    with worlds.served("rich", ManualTime(), pace=None) as (server, _):
        connection = connected(server, tmp_path)
        with closing(SingleObjects(connection)) as objects:
            found, missing = (
                objects.read_object(AWS_NODE),
                objects.read_object(ObjectName("v1", "ConfigMap", "kube-system", "no-such")),
            )
            names = ("nodepools.karpenter.sh", "no-such")
            of_cluster = [
                objects.read_object(ObjectName("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name))
                for name in names
            ]
        whole, paged = (
            NamespaceLists(replace(connection, page_size=size)).list_history(kinds.REPLICA_SETS, "kube-system")
            for size in (500, 1)
        )
    assert isinstance(found, dict) and object_name(found) == AWS_NODE
    assert found["metadata"]["managedFields"] == dumped["metadata"]["managedFields"]
    assert found["spec"] == dumped["spec"] and isinstance(missing, Absent)
    assert [isinstance(each, Absent) for each in of_cluster] == [False, True]
    assert whole == paged and not isinstance(whole, Unknown) and len(whole) > 1
    assert {(doc["kind"], doc["metadata"]["namespace"]) for doc in whole} == {("ReplicaSet", "kube-system")}


DEMUX = "DISABLE_TCP_EARLY_DEMUX"


def waited_for(connection: Connection, objects: Served) -> TemplateRevisions:
    """Wait until the DaemonSet controller has stored the current revision; its time is much faster than the wall
    clock."""
    ends_s = time.monotonic() + 30.0
    while time.monotonic() < ends_s:
        live = objects.get("DaemonSet", "aws-node")
        held = NamespaceLists(connection).list_history(kinds.CONTROLLER_REVISIONS, "kube-system")
        assert live is not None and not isinstance(held, Unknown), held
        found = read_revisions(live, held)
        if found.templates and _demux(found.templates[-1].doc) == _demux(live["spec"]["template"]):
            return found
        time.sleep(0.02)
    raise AssertionError("no revision of what it is now")


def _demux(template: Doc) -> object:
    return hands.env_of({"spec": {"template": template}}, INIT)[DEMUX]


def test_what_the_controller_keeps_tells_what_an_update_took(tmp_path: Path) -> None:
    with worlds.served("rich") as (server, _):
        connection = connected(server, tmp_path)
        objects = Served(server.url().rstrip("/"), worlds.ADMIN_TOKEN)
        service = AddonService(objects, "v1.19.5-eksbuild.1")
        waited_for(connection, objects)
        hands.patches_init_env(objects, DEMUX, "1")
        assert waited_for(connection, objects).templates[-1].created is not None
        assert service.update("v1.16.0-eksbuild.1", resolve_conflicts="OVERWRITE").status == "Successful"
        after = waited_for(connection, objects)
    began = after.templates[-1].created
    assert isinstance(began, datetime) and began.tzinfo is timezone.utc and not after.unreadable
    step = template_step(template_periods(after), began, "v1.16.0-eksbuild.1", True)
    assert isinstance(step, TemplateUpdateStep), step
    assert [_demux(each.doc) for each in (step.before, step.after)] == ["1", "false"]


LOG = LogKey("default", "asks", "app")


def test_containers_and_the_last_lines_of_each(tmp_path: Path) -> None:
    env = [{"name": "AWS_REGION", "value": "x"}, {"name": "HIDDEN", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]
    given: dict[str, Any] = {"name": "app", "image": "app:1", "command": ["/app"], "args": ["--aws-region=x"]}
    given |= {"env": env, "envFrom": [{"configMapRef": {"name": "more"}}]}
    spec = {"containers": [given, {"name": "mesh", "image": "mesh:1"}], "nodeName": "old-0"}
    others = [LogKey("default", "asks", "mesh"), LogKey("default", "nobody", "app"), LogKey("default", "asks", "none")]
    before = replace(LOG, previous=True)
    with worlds.served("small-traps", ManualTime(), pace=None) as (server, api):
        pod = json.dumps({"metadata": {"name": "asks"}, "spec": spec}).encode()
        admin = {"authorization": f"Bearer {worlds.ADMIN_TOKEN}"}
        assert api.handle(ServedRequest("POST", "/api/v1/namespaces/default/pods", {}, admin, pod)).status == 201
        api.logs.store("default", "asks", "app", "".join(f"line {n} {'x' * 2000}\n" for n in range(LOG_LINES + 5)))
        api.logs.store("default", "asks", "mesh", "".join(f"line {n}\n" for n in range(LOG_LINES + 5)))
        with closing(LivePodReader(connected(server, tmp_path))) as pods:
            found = pods.containers(["default/asks", "default/nobody"])
            logs = pods.logs([LOG, before, *others])
    app = Container(
        "app", "app:1", ("/app", "--aws-region=x"), ("AWS_REGION", "HIDDEN"), True, values=(("AWS_REGION", "x"),)
    )
    assert found["default/asks"] == (app, Container("mesh", "mesh:1"))
    assert isinstance(found["default/nobody"], Absent) and list(found) == ["default/asks", "default/nobody"]
    long, told, (mesh, nobody, none) = logs[LOG], logs[before], (logs[each] for each in others)
    assert isinstance(mesh, str) and mesh.splitlines() == [f"line {n}" for n in range(5, LOG_LINES + 5)]
    assert isinstance(long, str) and f"line {LOG_LINES + 4} " in long and len(long) < MAX_LOG_BYTES, (
        "the last are not lost"
    )
    assert isinstance(told, Unknown) and "previous terminated container" in told.why and not told.missing
    assert isinstance(nobody, Absent) and isinstance(none, Unknown)


GROUP = "admissionregistration.k8s.io"
USE = DeprecatedUse(GROUP, "v1beta1", "validatingadmissionpolicies", "1.34")
WAY = (Version(1, 33), Version(1, 34))
NAMESPACE: Doc = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "policy"}}


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedApiServer]:
    api = Api(load_documents([NAMESPACE, *old_apis()], worlds.START).plane, replace(worlds.SETUP, metrics=text((USE,))))
    with serving(api) as server:
        yield server
    assert list(api.internal_errors) == []


def _objects(told: KindUsage) -> tuple:
    assert not isinstance(told.objects, Unknown), told.objects
    return told.objects


def test_objects_and_releases_tell_in_which_version_they_were_written(
    server: SimulatedApiServer, tmp_path: Path
) -> None:
    signs = LiveApiUsage(connected(server, tmp_path, page=1))
    policies, bindings = signs.written(kinds_with_removed_versions(*WAY))
    assert {each.of.name: [sign.by for sign in each.signs] for each in _objects(policies)} == {
        "no-host-path": [WriteSource.LAST_APPLIED, WriteSource.MANAGED_FIELDS],
        "require-owner": [WriteSource.MANAGED_FIELDS],
    }
    (binding,) = _objects(bindings)
    assert [sign.manager for sign in binding.signs] == ["helm", "policy-webhook"]
    found = signs.releases()
    assert not isinstance(found, Unknown)
    (release,) = found
    assert (release.namespace, release.name, release.revision) == ("policy", "policy-webhook", 4)
    assert isinstance(release.manifest, ManifestText) and len(release.manifest.documents) == 3


def test_of_the_demo(tmp_path: Path) -> None:
    raw = RawObjects()
    held = DemoReader(raw, "check").read((*kinds.ALL, *READ[3:]))
    loaded = load_observed(held, raw)
    assert loaded.notes == ()
    with serving(Api(loaded.plane, worlds.SETUP)) as server:
        read = LiveReader(connected(server, tmp_path)).read(READ)
    assert read.api_services == held.api_services
    assert {each.name for each in held.definitions} > {"backups.store.example.com"}
    assert set(read.definitions) > set(held.definitions)  # definitions that the dump lacks are generated


def test_each_right_that_is_missing_is_named_and_what_is_not_read_is_unknown(
    server: SimulatedApiServer, tmp_path: Path
) -> None:
    signs = LiveApiUsage(connected(server, tmp_path, worlds.DRAINER_TOKEN, page=1))
    answers = [
        signs.requested(),
        signs.releases(),
        *(told.objects for told in signs.written(kinds_with_removed_versions(*WAY))),
    ]
    with worlds.served("small-traps", ManualTime(), pace=None) as (traps, _):
        connection = connected(traps, tmp_path, worlds.DRAINER_TOKEN)
        with closing(LivePodReader(connection)) as pods:
            log = replace(LOG, pod="trap-bare")
            answers.append(pods.logs([log])[log])
        answers.append(NamespaceLists(connection).list_history(kinds.CONTROLLER_REVISIONS, "kube-system"))
        answers.append(SingleObjects(connection).read_object(ObjectName("v1", "ConfigMap", "kube-system", "coredns")))
        found = LiveReader(connection).read((kinds.NODES, kinds.PODS, kinds.BUDGETS))
    assert [each.missing for each in answers if isinstance(each, Unknown)] == [
        "get /metrics",
        "list secrets",
        f"list validatingadmissionpolicies.{GROUP}",
        f"list validatingadmissionpolicybindings.{GROUP}",
        "get pods/log",
        "list controllerrevisions.apps",
        "get configmaps",
    ]
    assert found.read_of(kinds.BUDGETS).state == ReadState.FORBIDDEN
    assert found.read_of(kinds.PODS).state == ReadState.READ and len(found.pods) == 131
