"""Drain nodes with the real kubectl: the pods that it evicts, its waits, and its refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests import required_programs
from tests.embedded.clients import worlds
from tests.embedded.clients.programs import Kubectl, at_once

DRAIN = ("drain", "--ignore-daemonsets", "--delete-emptydir-data")


def on(kubectl: Kubectl, node: str) -> set[str]:
    """The names of the pods on that node."""
    listed = kubectl.json("get", "pods", "-A", "--field-selector", f"spec.nodeName={node}")
    return {str(pod["metadata"]["name"]) for pod in listed["items"]}


def a_budget_of_one_is_waited_for(kubectl: Kubectl) -> None:
    """Two pods of app-16 are on the node and the budget allows one disruption: the second pod waits for the first one's
    replacement."""
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
    # Every budget is as before: every evicted pod has a replacement on another node.
    allowed = {each["metadata"]["name"]: each["status"]["disruptionsAllowed"] for each in budgets(kubectl)}
    assert allowed["app-16"] == allowed["app-0"] == 1


def budgets(kubectl: Kubectl) -> list[dict[str, dict[str, int]]]:
    items: list[dict[str, dict[str, int]]] = kubectl.json("get", "pdb")["items"]
    return items


def a_budget_of_none_is_never_got_through(kubectl: Kubectl) -> None:
    """old-3 has a pod whose budget never allows an eviction."""
    ran = kubectl.ran(*DRAIN, "old-3", "--timeout=2s")
    assert ran.code == 1
    assert 'error when evicting pods/"trap-zero-959bc5bc4-6jplp"' in ran.err
    assert "trap-zero-959bc5bc4-6jplp" in on(kubectl, "old-3")
    assert "SchedulingDisabled" in kubectl("get", "node", "old-3")


def what_kubectl_does_not_dare(kubectl: Kubectl) -> None:
    said = kubectl.refused("drain", "old-0")
    assert "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): kube-system/aws-node-" in said
    assert re.search(r"cannot delete .*(declare no controller|no controller).* \(use --force to override\)", said)
    said = kubectl.refused("drain", "old-4", "--ignore-daemonsets")
    assert "cannot delete Pods with local storage (use --delete-emptydir-data to override)" in said


def a_dry_run_changes_nothing(kubectl: Kubectl) -> None:
    """Pods that their budgets let go, in a client and in a server dry run."""
    versions = ("get", "pods,nodes,pdb", "-A", "-o", "jsonpath={.items[*].metadata.resourceVersion}")
    before = kubectl(*versions)
    for how, said in (("client", ""), ("server", "server ")):
        ran = kubectl.ran(*DRAIN, "old-2", f"--dry-run={how}", "--pod-selector=app in (app-7,app-19,app-23)")
        assert ran.code == 0, ran.err
        assert ("evicting pod default/app-7-6 (server dry run)" in ran.out + ran.err) is bool(said)
        assert f"node/old-2 drained ({said}dry run)" in ran.out
    assert kubectl(*versions) == before


def pods_are_deleted_where_evictions_are_not_wanted(kubectl: Kubectl) -> None:
    ran = kubectl.ran(*DRAIN, "old-3", "--disable-eviction", "--timeout=50s")
    assert ran.code == 0, ran.err
    assert "pod/trap-zero-959bc5bc4-6jplp deleted" in ran.out
    assert all(name.startswith("aws-node-") for name in on(kubectl, "old-3"))


@pytest.mark.parametrize(
    ("body", "versions"),
    [
        pytest.param(a_budget_of_one_is_waited_for, required_programs.KUBECTLS[-1:], marks=pytest.mark.long),
        pytest.param(a_budget_of_one_is_waited_for, required_programs.KUBECTLS[:-1], marks=pytest.mark.long),
        pytest.param(a_budget_of_none_is_never_got_through, required_programs.KUBECTLS[-1:], marks=pytest.mark.long),
        (what_kubectl_does_not_dare, required_programs.KUBECTLS[-1:]),
        pytest.param(a_dry_run_changes_nothing, required_programs.KUBECTLS[-1:], marks=pytest.mark.long),
        pytest.param(
            pods_are_deleted_where_evictions_are_not_wanted, required_programs.KUBECTLS[-1:], marks=pytest.mark.long
        ),
    ],
)
def test_a_drain(body: Callable[[Kubectl], None], versions: tuple[str, ...], tmp_path: Path) -> None:
    """An administrator drains a cluster for each kubectl version. Pods take seconds of wall clock time to start: longer
    than kubectl takes to request every eviction once."""
    start_s = 3.0 if len(versions) == 1 else 6.0
    with ExitStack() as stack:
        deeds = []
        for version in versions:
            served = worlds.served("small-traps", pace=replace(worlds.QUICK, start=start_s * worlds.SPEED))
            url = stack.enter_context(served)[0].url(worlds.ADMIN_TOKEN)
            deeds.append(partial(body, Kubectl(required_programs.kubectl_of(version), tmp_path / version, url)))
        at_once(*deeds)
