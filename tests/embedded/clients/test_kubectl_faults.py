"""kubectl among faults: it does what it should, or says plainly that it did not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.clockwork import ByHand, Scaled
from tests.embedded.clients import worlds
from tests.embedded.clients.among_faults import OF_READING, served
from tests.embedded.clients.programs import Kubectl

WAITS = frozenset({"throttled", "unavailable", "reset", "answer-lost", "unanswered"})
"""After these kubectl comes again, a second or two later."""

PODS = ("get", "pods", "-A", "-o", "name", "--request-timeout=2s", "--chunk-size=50")


@pytest.fixture(scope="module")
def still() -> Api:
    """A cluster in which nothing happens."""
    return worlds.api_of("small-traps", ByHand(), pace=None)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in WAITS)) for name in sorted(OF_READING)]
)
def test_a_list_is_whole_or_refused(program: str, still: Api, tmp_path: Path, name: str) -> None:
    with served(still) as server:
        whole = Kubectl(program, tmp_path, server.url(worlds.ADMIN_TOKEN))(*PODS)
    good = 0
    with served(still, f"{name}@30%", seed=5) as server:
        kubectl = Kubectl(program, tmp_path, server.url(worlds.ADMIN_TOKEN))
        for _ in range(4):
            ran = kubectl.ran(*PODS)
            assert "panic" not in ran.err
            if ran.code == 0:
                assert ran.out == whole
                good += 1
            else:
                assert ran.err.strip(), "it says why"
    assert good, "trying again helps"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("forbidden", '(Forbidden): nodes is forbidden: User "admin" cannot list resource "nodes" in API group ""'),
        ("server-error", "Error from server: etcdserver: leader changed"),
        ("server-timeout", "Error from server (Timeout): Timeout: request did not complete within requested timeout"),
        ("reset", "connection reset by peer"),
        ("cut-short", "unexpected EOF"),
    ],
)
def test_a_fault_of_every_request_is_said(program: str, still: Api, tmp_path: Path, fault: str, said: str) -> None:
    with served(still) as server:
        kubectl = Kubectl(program, tmp_path, server.url(worlds.ADMIN_TOKEN))
        kubectl("get", "nodes")  # what is served is known from now on
    with served(still, fault) as server:
        assert said in Kubectl(program, tmp_path, server.url(worlds.ADMIN_TOKEN)).refused("get", "--raw=/api/v1/nodes")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("conflict", "the object has been modified; please apply your changes to the latest version and try again"),
        ("denied", 'admission webhook "guard.example.io" denied the request: not today'),
        ("webhook-down", 'failed calling webhook "guard.example.io"'),
    ],
)
def test_a_write_that_is_refused_is_said_and_not_done(
    program: str, still: Api, tmp_path: Path, fault: str, said: str
) -> None:
    with served(still, fault) as server:
        kubectl = Kubectl(program, tmp_path, server.url(worlds.ADMIN_TOKEN))
        assert said in kubectl.refused("patch", "node", "old-0", "-p", '{"spec": {"unschedulable": true}}')
        assert "unschedulable" not in kubectl.json("get", "node", "old-0")["spec"]


@pytest.mark.parametrize("fault", ["watch-cut", "watch-doubled", "watch-expired=1"])
def test_who_waits_for_a_node_sees_it_change(program: str, still: Api, tmp_path: Path, fault: str) -> None:
    """``kubectl wait`` watches, and watches again."""
    with served(worlds.api_of("small-traps", ByHand(), pace=None), fault) as server:
        kubectl = Kubectl(program, tmp_path, server.url(worlds.ADMIN_TOKEN))
        with kubectl.going(
            "wait", "node/old-0", "--for=jsonpath={.spec.unschedulable}=true", "--timeout=30s"
        ) as waiting:
            kubectl("cordon", "old-0")
            assert waiting.wait(timeout=30) == 0


@pytest.mark.long
@pytest.mark.parametrize("faults", [("throttled@10%",), ("budget-unseen@30%", "over-budget@10%"), ("repeated@50%",)])
def test_a_drain_comes_to_its_end(program: str, tmp_path: Path, faults: tuple[str, ...]) -> None:
    api = worlds.api_of("small-traps", Scaled(time.monotonic, worlds.SPEED))
    with served(api, *faults, seed=2) as server:
        kubectl = Kubectl(program, tmp_path, server.url(worlds.ADMIN_TOKEN))
        ran = kubectl.ran("drain", "old-1", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=50s")
        left = kubectl.json("get", "pods", "-A", "--field-selector=spec.nodeName=old-1")["items"]
    kinds = {owner["kind"] for pod in left for owner in pod["metadata"].get("ownerReferences", ())}
    assert (ran.code == 0) == (kinds <= {"DaemonSet", "Node"}), ran.err
