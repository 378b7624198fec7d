"""kubectl with injected faults: each command succeeds or clearly reports that it did not."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.handler import ManualTime, ScaledTime, TimeDriver
from tests import required_programs
from tests.embedded.clients import worlds
from tests.embedded.clients.among_faults import served
from tests.embedded.clients.programs import Kubectl, at_once

Body = Callable[[Kubectl, str], None]


def among(body: Body, folder: Path, program: str, faults: str, said: str, speed: float) -> None:
    """Run `body` with its own cluster, whose time passes at some speed or stands still."""
    clockwork: TimeDriver = ScaledTime(time.monotonic, speed) if speed else ManualTime()
    api = worlds.api_of("small-traps", clockwork, worlds.QUICK if speed else None)
    with served(api, *faults.split(), seed=2) as server:
        body(Kubectl(program, folder, server.url(worlds.ADMIN_TOKEN)), said)


def reads(kubectl: Kubectl, said: str) -> None:
    assert said in kubectl.refused("get", "--raw=/api/v1/nodes")


def writes(kubectl: Kubectl, said: str) -> None:
    assert said in kubectl.refused("patch", "node", "old-0", "-p", '{"spec": {"unschedulable": true}}')
    assert "unschedulable" not in kubectl.json("get", "node", "old-0")["spec"]


def waits(kubectl: Kubectl, _: str) -> None:
    """``kubectl wait`` opens a watch, and then another one."""
    change = ("wait", "node/old-0", "--for=jsonpath={.spec.unschedulable}=true", "--timeout=30s")
    with kubectl.going(*change) as waiting:
        kubectl("cordon", "old-0")
        assert waiting.wait(timeout=30) == 0


def drains(kubectl: Kubectl, _: str) -> None:
    ran = kubectl.ran("drain", "old-1", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=50s")
    left = kubectl.json("get", "pods", "-A", "--field-selector=spec.nodeName=old-1")["items"]
    kinds = {owner["kind"] for pod in left for owner in pod["metadata"].get("ownerReferences", ())}
    assert (ran.code == 0) == (kinds <= {"DaemonSet", "Node"}), ran.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "faults", "speed"),
    [
        (
            reads,
            {
                "forbidden": 'nodes is forbidden: User "admin" cannot list resource "nodes" in API group ""',
                "server-error": "Error from server: etcdserver: leader changed",
                "server-timeout": "Error from server (Timeout): Timeout: request did not complete within requested",
                "reset": "connection reset by peer",
                "cut-short": "unexpected EOF",
            },
            0.0,
        ),
        (
            writes,
            {
                "conflict": "the object has been modified; please apply your changes to the latest version",
                "denied": 'admission webhook "guard.example.io" denied the request: not today',
                "webhook-down": 'failed calling webhook "guard.example.io"',
            },
            0.0,
        ),
        (waits, dict.fromkeys(("watch-cut", "watch-doubled", "watch-expired=1"), ""), 0.0),
        (
            drains,
            dict.fromkeys(("throttled@10%", "budget-unseen@30% over-budget@10%", "repeated@50%"), ""),
            worlds.SPEED,
        ),
    ],
)
def test_each_fault(body: Body, faults: dict[str, str], speed: float, tmp_path: Path) -> None:
    """Each fault meets another kubectl version, from the newest back."""
    at_once(
        *(
            partial(
                among,
                body,
                tmp_path / str(place),
                required_programs.kubectl_of(required_programs.KUBECTLS[-1 - place]),
                fault,
                said,
                speed,
            )
            for place, (fault, said) in enumerate(faults.items())
        )
    )
