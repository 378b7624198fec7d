"""Nodes drained with the real kubectl: what it evicts, what it waits for, what it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests import needed
from tests.embedded.clients import worlds
from tests.embedded.clients.programs import Kubectl, at_once

DRAIN = ("drain", "--ignore-daemonsets", "--delete-emptydir-data")


def on(kubectl: Kubectl, node: str) -> set[str]:
    """The names of the pods there."""
    listed = kubectl.json("get", "pods", "-A", "--field-selector", f"spec.nodeName={node}")
    return {str(pod["metadata"]["name"]) for pod in listed["items"]}


@pytest.fixture(
    params=[
        pytest.param(needed.KUBECTLS[-1:], id="newest"),
        pytest.param(needed.KUBECTLS[:-1], id="older", marks=pytest.mark.long),
    ]
)
def kubectls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Kubectl]]:
    """Admins with a cluster each. Pods take seconds of the wall's to start: longer than kubectl takes to ask for every
    eviction once."""
    programs = [needed.kubectl_of(version) for version in request.param]
    start_s = 3.0 if len(programs) == 1 else 6.0
    with ExitStack() as stack:
        yield [
            Kubectl(
                program,
                tmp_path / str(place),
                stack.enter_context(worlds.served("small-traps", pace=worlds.Even(start_s * worlds.SPEED)))[0].url(
                    worlds.ADMIN_TOKEN
                ),
            )
            for place, program in enumerate(programs)
        ]


def with_each(kubectls: list[Kubectl], body: Callable[[Kubectl], None]) -> None:
    at_once(*(partial(body, kubectl) for kubectl in kubectls))


@pytest.mark.long
def test_a_budget_of_one_is_waited_for(kubectls: list[Kubectl]) -> None:
    with_each(kubectls, a_budget_of_one_is_waited_for)


def a_budget_of_one_is_waited_for(kubectl: Kubectl) -> None:
    """Two pods of app-16 are on the node and one may be missing: the second waits for the first one's replacement."""
    before = on(kubectl, "old-1")
    assert sum(name.startswith("app-16-") for name in before) == 2
    ran = kubectl.ran(*DRAIN, "old-1", "--timeout=50s")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("node/old-1 cordoned\n") and ran.out.endswith("node/old-1 drained\n")
    evicted = set(re.findall(r"^pod/(\S+) evicted$", ran.out, re.M))
    stayed = {name for name in before if name.startswith("aws-node-")}
    assert evicted == before - stayed
    assert re.search(r'error when evicting pods/"app-16-\S+" -n "default" \(will retry after 5s\): ', ran.err)
    assert "Cannot evict pod as it would violate the pod's disruption budget." in ran.err
    assert on(kubectl, "old-1") == stayed
    kubectl("wait", "deploy/app-16", "--for=jsonpath={.status.readyReplicas}=12", "--timeout=30s")
    # Every budget is as it was: whatever was evicted has come back elsewhere.
    allowed = {each["metadata"]["name"]: each["status"]["disruptionsAllowed"] for each in budgets(kubectl)}
    assert allowed["app-16"] == allowed["app-0"] == 1


def budgets(kubectl: Kubectl) -> list[dict[str, dict[str, int]]]:
    items: list[dict[str, dict[str, int]]] = kubectl.json("get", "pdb")["items"]
    return items


@pytest.mark.long
def test_a_budget_of_none_is_never_got_through(kubectls: list[Kubectl]) -> None:
    with_each(kubectls, a_budget_of_none_is_never_got_through)


def a_budget_of_none_is_never_got_through(kubectl: Kubectl) -> None:
    """old-3 has a pod that no budget lets go."""
    ran = kubectl.ran(*DRAIN, "old-3", "--timeout=2s")
    assert ran.code == 1
    assert 'error when evicting pods/"trap-zero-959bc5bc4-6jplp"' in ran.err
    assert "trap-zero-959bc5bc4-6jplp" in on(kubectl, "old-3")
    assert "SchedulingDisabled" in kubectl("get", "node", "old-3")


def test_what_kubectl_does_not_dare(kubectls: list[Kubectl]) -> None:
    with_each(kubectls, what_kubectl_does_not_dare)


def what_kubectl_does_not_dare(kubectl: Kubectl) -> None:
    said = kubectl.refused("drain", "old-0")
    assert "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): kube-system/aws-node-" in said
    assert re.search(r"cannot delete .*(declare no controller|no controller).* \(use --force to override\)", said)
    said = kubectl.refused("drain", "old-4", "--ignore-daemonsets")
    assert "cannot delete Pods with local storage (use --delete-emptydir-data to override)" in said


@pytest.mark.parametrize("how", ["client", "server"])
@pytest.mark.long
def test_a_dry_run_changes_nothing(kubectls: list[Kubectl], how: str) -> None:
    with_each(kubectls, partial(a_dry_run_changes_nothing, how=how))


def a_dry_run_changes_nothing(kubectl: Kubectl, how: str) -> None:
    """Of pods that their budgets let go; the server is asked where it is to be."""
    before = kubectl("get", "pods,nodes,pdb", "-A", "-o", "jsonpath={.items[*].metadata.resourceVersion}")
    ran = kubectl.ran(*DRAIN, "old-2", f"--dry-run={how}", "--pod-selector=app in (app-7,app-19,app-23)")
    assert ran.code == 0, ran.err
    if how == "server":
        assert "evicting pod default/app-7-6 (server dry run)" in ran.out + ran.err
    assert f"node/old-2 drained ({'server ' if how == 'server' else ''}dry run)" in ran.out
    assert kubectl("get", "pods,nodes,pdb", "-A", "-o", "jsonpath={.items[*].metadata.resourceVersion}") == before


@pytest.mark.long
def test_pods_are_deleted_where_evictions_are_not_wanted(kubectls: list[Kubectl]) -> None:
    with_each(kubectls, pods_are_deleted_where_evictions_are_not_wanted)


def pods_are_deleted_where_evictions_are_not_wanted(kubectl: Kubectl) -> None:
    ran = kubectl.ran(*DRAIN, "old-3", "--disable-eviction", "--timeout=50s")
    assert ran.code == 0, ran.err
    assert "pod/trap-zero-959bc5bc4-6jplp deleted" in ran.out
    assert all(name.startswith("aws-node-") for name in on(kubectl, "old-3"))
