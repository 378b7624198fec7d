"""kubectl among faults: it does what it should, or says plainly that it did not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime, Scaled
from tests import needed
from tests.embedded.clients import worlds
from tests.embedded.clients.among_faults import served
from tests.embedded.clients.programs import Kubectl, at_once


@pytest.fixture(scope="module")
def still() -> Api:
    """A cluster in which nothing happens."""
    return worlds.api_of("small-traps", ManualTime(), pace=None)


def kubectls(count: int) -> list[str]:
    """So many programs, from the newest version back: each fault meets one of them, and each version a fault."""
    return [needed.kubectl_of(needed.KUBECTLS[-1 - place % len(needed.KUBECTLS)]) for place in range(count)]


def each_at_once(body: Callable[..., None], still: Api, folder: Path, faults: Mapping[str, str]) -> None:
    """`body` for each fault and what is said of it, with a folder of its own."""
    programs = kubectls(len(faults))
    at_once(
        *(
            partial(body, program, still, folder / str(place), fault, said)
            for place, (program, (fault, said)) in enumerate(zip(programs, faults.items(), strict=True))
        )
    )


def sampled(faults: Mapping[str, str], quick: str) -> pytest.MarkDecorator:
    """One fault in the quick tests, all of them in the long ones."""
    return pytest.mark.parametrize(
        "faults",
        [pytest.param({quick: faults[quick]}, id=quick), pytest.param(faults, id="all", marks=pytest.mark.long)],
    )


SAID = {
    "forbidden": '(Forbidden): nodes is forbidden: User "admin" cannot list resource "nodes" in API group ""',
    "server-error": "Error from server: etcdserver: leader changed",
    "server-timeout": "Error from server (Timeout): Timeout: request did not complete within requested timeout",
    "reset": "connection reset by peer",
    "cut-short": "unexpected EOF",
}


@pytest.mark.long
@sampled(SAID, "forbidden")
def test_a_fault_of_every_request_is_said(still: Api, tmp_path: Path, faults: Mapping[str, str]) -> None:
    each_at_once(said_of_every_request, still, tmp_path, faults)


def said_of_every_request(program: str, still: Api, folder: Path, fault: str, said: str) -> None:
    with served(still, fault) as server:
        assert said in Kubectl(program, folder, server.url(worlds.ADMIN_TOKEN)).refused("get", "--raw=/api/v1/nodes")


OF_WRITES = {
    "conflict": "the object has been modified; please apply your changes to the latest version and try again",
    "denied": 'admission webhook "guard.example.io" denied the request: not today',
    "webhook-down": 'failed calling webhook "guard.example.io"',
}


@pytest.mark.long
@sampled(OF_WRITES, "denied")
def test_a_write_that_is_refused_is_said_and_not_done(still: Api, tmp_path: Path, faults: Mapping[str, str]) -> None:
    each_at_once(refused_write, still, tmp_path, faults)


def refused_write(program: str, still: Api, folder: Path, fault: str, said: str) -> None:
    with served(still, fault) as server:
        kubectl = Kubectl(program, folder, server.url(worlds.ADMIN_TOKEN))
        assert said in kubectl.refused("patch", "node", "old-0", "-p", '{"spec": {"unschedulable": true}}')
        assert "unschedulable" not in kubectl.json("get", "node", "old-0")["spec"]


@pytest.mark.long
@sampled(dict.fromkeys(("watch-cut", "watch-doubled", "watch-expired=1"), ""), "watch-cut")
def test_who_waits_for_a_node_sees_it_change(still: Api, tmp_path: Path, faults: Mapping[str, str]) -> None:
    """``kubectl wait`` watches, and watches again."""
    each_at_once(waited_for, still, tmp_path, faults)


def waited_for(program: str, _: Api, folder: Path, fault: str, __: str) -> None:
    with served(worlds.api_of("small-traps", ManualTime(), pace=None), fault) as server:
        kubectl = Kubectl(program, folder, server.url(worlds.ADMIN_TOKEN))
        with kubectl.going(
            "wait", "node/old-0", "--for=jsonpath={.spec.unschedulable}=true", "--timeout=30s"
        ) as waiting:
            kubectl("cordon", "old-0")
            assert waiting.wait(timeout=30) == 0, fault


@pytest.mark.long
def test_a_drain_comes_to_its_end(still: Api, tmp_path: Path) -> None:
    faults = ("throttled@10%", "budget-unseen@30% over-budget@10%", "repeated@50%")
    each_at_once(drained, still, tmp_path, dict.fromkeys(faults, ""))


def drained(program: str, _: Api, folder: Path, faults: str, __: str) -> None:
    api = worlds.api_of("small-traps", Scaled(time.monotonic, worlds.SPEED))
    with served(api, *faults.split(), seed=2) as server:
        kubectl = Kubectl(program, folder, server.url(worlds.ADMIN_TOKEN))
        ran = kubectl.ran("drain", "old-1", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=50s")
        left = kubectl.json("get", "pods", "-A", "--field-selector=spec.nodeName=old-1")["items"]
    kinds = {owner["kind"] for pod in left for owner in pod["metadata"].get("ownerReferences", ())}
    assert (ran.code == 0) == (kinds <= {"DaemonSet", "Node"}), ran.err
