"""Tables of the API: the columns of each kind, ages as kubectl prints them, and the contents of a row."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.embedded import table_columns as fields
from kubectl_eksdoc.embedded.catalogue import Catalogue
from kubectl_eksdoc.embedded.tables import partial, table
from kubectl_eksdoc.kubernetes.api.resources import ServedResource
from tests.fakes import recordings

Doc = dict[str, Any]

NOW = datetime(2026, 11, 20, 9, 0, 0, tzinfo=timezone.utc)
CREATED = "2026-11-20T08:54:40Z"
"""When the objects of these tests were made: 5m20s before `NOW`."""

_BUILT_IN = Catalogue()


def an_object(name: str = "one", *, meta: Doc | None = None, **parts: Any) -> Doc:
    return {"metadata": {"name": name, "creationTimestamp": CREATED, **(meta or {})}, **parts}


def shown(resource: str, document: Doc) -> dict[str, Any]:
    """The cells of `document` under its columns' names; `resource` as ``deployments.v1.apps``, ``pods.v1``."""
    plural, version, group = [*resource.split(".", 2), ""][:3]
    served = _BUILT_IN.find(group, version, plural)
    assert served is not None, resource
    said = table(served, [document], NOW)
    [row] = said["rows"]
    names = [column["name"] for column in said["columnDefinitions"]]
    assert len(names) == len(set(names)), "columns have different names"
    return dict(zip(names, row["cells"], strict=True))


MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (2 * MINUTE - 1, "119s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE + 30, "10m"),
        (3 * HOUR, "3h"),
        (8 * HOUR + 30 * MINUTE, "8h"),
        (2 * DAY, "2d"),
        (8 * DAY + 12 * HOUR, "8d"),
        (2 * YEAR, "2y"),
        (8 * YEAR + 100 * DAY, "8y"),
    ],
)
def test_human(seconds: float, text: str) -> None:
    assert fields.format_duration(seconds) == text


@pytest.mark.parametrize(
    ("node", "status", "roles"),
    [
        (an_object(status={"conditions": [{"type": "Ready", "status": "True"}]}), "Ready", "<none>"),
        (an_object(status={"conditions": [{"type": "Ready", "status": "Unknown"}]}), "NotReady", "<none>"),
        (an_object(spec={"unschedulable": True}), "Unknown,SchedulingDisabled", "<none>"),
        (
            an_object(
                meta={"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "infra"}},
                spec={"unschedulable": True},
                status={"conditions": [{"type": "Ready", "status": "True"}]},
            ),
            "Ready,SchedulingDisabled",
            "infra,worker",
        ),
    ],
)
def test_a_node(node: Doc, status: str, roles: str) -> None:
    said = shown("nodes.v1", node)
    assert (said["Status"], said["Roles"]) == (status, roles)
    assert (said["Internal-IP"], said["OS-Image"], said["Kernel-Version"]) == ("<none>", "<unknown>", "<unknown>")


TEMPLATE = {"spec": {"containers": [{"name": "app", "image": "app:1"}, {"name": "log", "image": "log:2"}]}}
SELECTOR = {
    "matchLabels": {"tier": "web", "app": "shop"},
    "matchExpressions": [
        {"key": "zone", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
    ],
}
WIDE = {"Containers": "app,log", "Images": "app:1,log:2", "Selector": "app=shop,!old,tier=web,zone in (a,b)"}
SPEC = {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE}


@pytest.mark.parametrize(
    ("resource", "spec", "status", "cells"),
    [
        (
            "deployments.v1.apps",
            SPEC,
            {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1, "replicas": 4},
            {"Ready": "2/3", "Up-to-date": 3, "Available": 1, **WIDE},
        ),
        (
            "replicasets.v1.apps",
            {**SPEC, "selector": None},
            {"replicas": 4, "readyReplicas": 2},
            {"Desired": 3, "Current": 4, "Ready": 2, **WIDE, "Selector": "<none>"},
        ),
        (
            "statefulsets.v1.apps",
            SPEC,
            {"readyReplicas": 3},
            {"Ready": "3/3", "Containers": "app,log", "Images": "app:1,log:2"},
        ),
        (
            "daemonsets.v1.apps",
            {"selector": SELECTOR, "template": {"spec": {**TEMPLATE["spec"], "nodeSelector": {"b": "2", "a": "1"}}}},
            {"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3}
            | {"updatedNumberScheduled": 2, "numberAvailable": 1},
            {"Desired": 5, "Current": 4, "Ready": 3, "Up-to-date": 2, "Available": 1, "Node Selector": "a=1,b=2"}
            | WIDE,
        ),
        (
            "poddisruptionbudgets.v1.policy",
            {"minAvailable": "50%"},
            {"disruptionsAllowed": 1},
            {"Min Available": "50%", "Max Unavailable": "N/A", "Allowed Disruptions": 1},
        ),
        (
            "poddisruptionbudgets.v1.policy",
            {"maxUnavailable": 0},
            {},
            {"Min Available": "N/A", "Max Unavailable": "0", "Allowed Disruptions": 0},
        ),
    ],
)
def test_what_is_shown(resource: str, spec: Doc, status: Doc, cells: Doc) -> None:
    assert shown(resource, an_object(spec=spec, status=status)) == {"Name": "one", **cells, "Age": "5m20s"}


RUNNING: Doc = {"running": {"startedAt": "2026-11-20T08:55:00Z"}}
DONE: Doc = {"terminated": {"exitCode": 0, "reason": "Completed"}}
FAILED: Doc = {"terminated": {"exitCode": 1, "reason": "Error"}}
READY = {"type": "Ready", "status": "True"}


def waiting(reason: str) -> Doc:
    return {"waiting": {"reason": reason}}


def status_of(
    name: str,
    state: Doc | None = None,
    *,
    ready: bool = False,
    restarts: int = 0,
    last: str = "",
    started: bool = False,
) -> Doc:
    """A container status; `last` is when the container ended before its last restart."""
    before = {"terminated": {"exitCode": 1, "finishedAt": last}} if last else {}
    return {
        "name": name,
        "ready": ready,
        "started": started,
        "restartCount": restarts,
        "state": RUNNING if state is None else state,
        "lastState": before,
    }


def a_pod(
    *containers: Doc,
    init: tuple[Doc, ...] = (),
    sidecars: tuple[str, ...] = (),
    phase: str = "Running",
    meta: Doc | None = None,
    spec: Doc | None = None,
    **status: Any,
) -> Doc:
    """A pod with these container statuses; without any, one container that runs and is ready."""
    containers = containers or (status_of("app", ready=True),)
    restart = {name: {"restartPolicy": "Always"} for name in sidecars}
    return an_object(
        meta=meta,
        spec={
            "containers": [{"name": c["name"]} for c in containers],
            "initContainers": [{"name": c["name"], **restart.get(c["name"], {})} for c in init],
            **(spec or {}),
        },
        status={
            "phase": phase,
            "containerStatuses": list(containers),
            "initContainerStatuses": list(init),
            **status,
        },
    )


GOING = {"deletionTimestamp": "2026-11-20T08:59:00Z"}
BEHIND = status_of("app", waiting("PodInitializing"))


@pytest.mark.parametrize(
    ("pod", "ready", "word"),
    [
        (a_pod(status_of("a", ready=True), status_of("b")), "1/2", "Running"),
        (a_pod(status_of("a", waiting("CrashLoopBackOff"))), "0/1", "CrashLoopBackOff"),
        (a_pod(status_of("a", {"terminated": {"exitCode": 3}})), "0/1", "ExitCode:3"),
        (a_pod(status_of("a", DONE), status_of("b", ready=True), conditions=[READY]), "1/2", "Running"),
        (a_pod(status_of("a", DONE), status_of("b", ready=True)), "1/2", "NotReady"),
        (a_pod(status_of("a", FAILED), status_of("b", waiting("CrashLoopBackOff"))), "0/2", "Error"),
        (a_pod(status_of("a", DONE), status_of("b", FAILED)), "0/2", "Error"),
        (a_pod(status_of("a"), phase="Failed", reason="Evicted"), "0/1", "Evicted"),
        (
            a_pod(
                init=(status_of("i", waiting("CrashLoopBackOff")),),
                conditions=[{"type": "Initialized", "status": "True"}],
            ),
            "1/1",
            "Init:CrashLoopBackOff",
        ),
        (
            a_pod(init=(status_of("p", ready=True, started=True), status_of("s", DONE)), sidecars=("p",)),
            "2/2",
            "Running",
        ),
        (a_pod(init=(status_of("p", started=True), status_of("s", DONE)), sidecars=("p",)), "1/2", "Running"),
        (a_pod(meta=GOING), "1/1", "Terminating"),
        (a_pod(meta=GOING, reason="NodeLost"), "1/1", "Unknown"),
        (
            a_pod(
                status_of("a", {}),
                phase="Pending",
                conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
            ),
            "0/1",
            "SchedulingGated",
        ),
    ],
)
def test_status(pod: Doc, ready: str, word: str) -> None:
    said = shown("pods.v1", pod)
    assert (said["Ready"], said["Status"]) == (ready, word)


@pytest.mark.parametrize(
    ("init", "word"),
    [
        ((status_of("i", DONE), status_of("j", RUNNING, started=True)), "Init:1/2"),
        ((status_of("i", FAILED), status_of("j", waiting("PodInitializing"))), "Init:Error"),
        ((status_of("i", DONE),), "PodInitializing"),
    ],
)
def test_status_while_init_containers_run(init: tuple[Doc, ...], word: str) -> None:
    said = shown("pods.v1", a_pod(BEHIND, init=init, phase="Pending"))
    assert (said["Ready"], said["Status"]) == ("0/1", word)


@pytest.mark.parametrize(
    ("pod", "restarts"),
    [
        (a_pod(status_of("a", restarts=2, last="2026-11-20T08:55:00Z")), "2 (5m ago)"),
        (a_pod(init=(status_of("i", DONE, restarts=4, last="2026-11-20T08:50:00Z"),)), "0"),
        (
            a_pod(
                status_of("a", restarts=1, last="2026-11-20T08:00:00Z"),
                init=(status_of("p", restarts=2, started=True, last="2026-11-20T08:50:00Z"),),
                sidecars=("p",),
            ),
            "3 (10m ago)",
        ),
        (
            a_pod(BEHIND, init=(status_of("i", restarts=4, last="2026-11-20T08:50:00Z"),), phase="Pending"),
            "4 (10m ago)",
        ),
    ],
)
def test_restarts(pod: Doc, restarts: str) -> None:
    assert shown("pods.v1", pod)["Restarts"] == restarts


def test_where_a_pod_is() -> None:
    pod = a_pod(
        spec={"nodeName": "old-1", "readinessGates": [{"conditionType": "lb"}, {"conditionType": "dns"}]},
        podIP="10.0.0.7",
        podIPs=[{"ip": "10.0.0.7"}, {"ip": "fd00::7"}],
        nominatedNodeName="old-2",
        conditions=[{"type": "lb", "status": "True"}, {"type": "dns", "status": "False"}],
    )
    said = shown("pods.v1", pod)
    assert said["Age"] == "5m20s"
    assert (said["IP"], said["Node"], said["Nominated Node"]) == ("10.0.0.7", "old-1", "old-2")
    assert said["Readiness Gates"] == "1/2"
    assert fields.since(None, NOW) == "<unknown>"
    assert shown("services.v1", an_object()) == {"Name": "one", "Created At": CREATED}
    said = shown("pods.v1", a_pod(phase="Pending"))
    assert {said[column] for column in ("IP", "Node", "Nominated Node", "Readiness Gates")} == {"<none>"}


def test_the_row_of_a_pod_that_ended_says_so() -> None:
    ended, running = table(served("pods"), [a_pod(phase="Failed"), a_pod()], NOW)["rows"]
    [condition] = ended["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Completed", "True", "Failed")
    assert "conditions" not in running


def served(plural: str) -> ServedResource:
    found = Catalogue().find("", "v1", plural)
    assert found is not None
    return found


def test_what_a_row_holds_of_its_object() -> None:
    one = recordings.document("node")
    rows = {what: table(served("nodes"), [one], NOW, what)["rows"][0] for what in ("Metadata", "Object", "None")}
    assert rows["Metadata"]["object"] == partial(one)
    assert rows["Object"]["object"] == one
    assert rows["None"]["object"] is None
