"""The words, counts and restarts that are shown of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.api.tables.table import table
from tests.embedded.api.tables.showing import NOW, an_object, shown

Doc = dict[str, Any]

RUNNING: Doc = {"running": {"startedAt": "2026-11-20T08:55:00Z"}}
DONE: Doc = {"terminated": {"exitCode": 0, "reason": "Completed"}}
FAILED: Doc = {"terminated": {"exitCode": 1, "reason": "Error"}}
READY = {"type": "Ready", "status": "True"}
INITIALIZED = {"type": "Initialized", "status": "True"}


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


@pytest.mark.parametrize(
    ("pod", "ready", "word"),
    [
        (a_pod(status_of("a", ready=True), status_of("b")), "1/2", "Running"),
        (a_pod(status_of("a", waiting("CrashLoopBackOff"))), "0/1", "CrashLoopBackOff"),
        (a_pod(status_of("a", {"terminated": {"exitCode": 3}})), "0/1", "ExitCode:3"),
        (a_pod(status_of("a", {"terminated": {"exitCode": 0, "signal": 9}})), "0/1", "Signal:9"),
        # One of two containers is done: the pod is not, unless nothing else runs.
        (a_pod(status_of("a", DONE), status_of("b", ready=True), conditions=[READY]), "1/2", "Running"),
        (a_pod(status_of("a", DONE), status_of("b", ready=True)), "1/2", "NotReady"),
        (a_pod(status_of("a", DONE), status_of("b", FAILED)), "0/2", "Error"),
        # The first container that has something to say has the last word.
        (a_pod(status_of("a", FAILED), status_of("b", waiting("CrashLoopBackOff"))), "0/2", "Error"),
        (a_pod(status_of("a"), phase="Failed", reason="Evicted"), "0/1", "Evicted"),
        (a_pod(meta=GOING), "1/1", "Terminating"),
        (a_pod(status_of("a", DONE), phase="Succeeded", meta=GOING), "0/1", "Completed"),
        (a_pod(meta=GOING, reason="NodeLost"), "1/1", "Unknown"),
        (a_pod(reason="NodeLost"), "1/1", "NodeLost"),
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


BEHIND = status_of("app", waiting("PodInitializing"))


@pytest.mark.parametrize(
    ("init", "word"),
    [
        ((status_of("i", DONE), status_of("j", RUNNING)), "Init:1/2"),
        ((status_of("i", waiting("PodInitializing")),), "Init:0/1"),
        ((status_of("i", waiting("ImagePullBackOff")),), "Init:ImagePullBackOff"),
        ((status_of("i", FAILED), status_of("j", waiting("PodInitializing"))), "Init:Error"),
        ((status_of("i", {"terminated": {"exitCode": 2}}),), "Init:ExitCode:2"),
        ((status_of("i", {"terminated": {"exitCode": 2, "signal": 15}}),), "Init:Signal:15"),
        ((status_of("i", DONE),), "PodInitializing"),
    ],
)
def test_status_while_init_containers_run(init: tuple[Doc, ...], word: str) -> None:
    said = shown("pods.v1", a_pod(BEHIND, init=init, phase="Pending"))
    assert (said["Ready"], said["Status"]) == ("0/1", word)


def test_an_init_container_that_runs_again_does_not_hide_the_containers() -> None:
    pod = a_pod(init=(status_of("i", waiting("CrashLoopBackOff")),), conditions=[INITIALIZED])
    assert shown("pods.v1", pod)["Ready"] == "1/1"


@pytest.mark.parametrize(("ready", "count"), [(True, "2/2"), (False, "1/2")])
def test_sidecars_count_as_containers(ready: bool, count: str) -> None:
    init = (status_of("proxy", ready=ready, started=True), status_of("setup", DONE))
    said = shown("pods.v1", a_pod(init=init, sidecars=("proxy",)))
    assert (said["Ready"], said["Status"]) == (count, "Running")


def test_a_sidecar_that_has_not_started_holds_the_pod_back() -> None:
    said = shown("pods.v1", a_pod(BEHIND, init=(status_of("proxy"),), sidecars=("proxy",), phase="Pending"))
    assert (said["Ready"], said["Status"]) == ("0/2", "Init:0/1")


@pytest.mark.parametrize(
    ("pod", "restarts"),
    [
        (a_pod(), "0"),
        (a_pod(status_of("a", restarts=2, last="2026-11-20T08:55:00Z")), "2 (5m ago)"),
        (a_pod(status_of("a", restarts=2)), "2"),
        (
            a_pod(
                status_of("a", restarts=2, last="2026-11-20T08:00:00Z"),
                status_of("b", restarts=1, last="2026-11-20T08:59:00Z"),
            ),
            "3 (60s ago)",
        ),
        # An init container that was done counts no more, a sidecar always does.
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


def test_a_pod_that_is_nowhere() -> None:
    said = shown("pods.v1", a_pod(phase="Pending"))
    assert {said[column] for column in ("IP", "Node", "Nominated Node", "Readiness Gates")} == {"<none>"}
    assert shown("pods.v1", a_pod(podIP="10.0.0.8"))["IP"] == "10.0.0.8"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_row_of_a_pod_that_ended_says_so(phase: str) -> None:
    pods = Catalogue().find("", "v1", "pods")
    assert pods is not None
    ended, running = table(pods, [a_pod(phase=phase), a_pod()], NOW)["rows"]
    [condition] = ended["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Completed", "True", phase)
    assert "conditions" not in running
