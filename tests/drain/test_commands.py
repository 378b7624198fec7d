"""Commands can be pasted, whatever the names in them are: a shell splits them into the words that were meant."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model import connection
from kubectl_eksdoc.model.cluster import Namespace
from kubectl_eksdoc.model.findings import Remedy
from kubectl_eksdoc.model.network import Service
from tests.builders import TOLERATES_ALL, a_budget, a_claimed, a_node, a_pod, a_workload, ago
from tests.drain.planning import plan_of

EVIL = "x;rm -rf / #$(reboot)`id`'\"\n&& ls > y"


def words(command: str) -> list[str]:
    """As a POSIX shell splits them; its own operators are words by themselves."""
    return list(shlex.shlex(command, posix=True, punctuation_chars=True))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (connection.kubectl("get", "pod", "web-0", "shop"), "kubectl get pod web-0 -n shop"),
        (connection.kubectl("get", "node", "n-1", "", "-o", "yaml"), "kubectl get node n-1 -o yaml"),
        (connection.kubectl("get", "pod", "-A", "shop"), "kubectl get pod/-A -n shop"),
        (connection.kubectl("get", "pod", "a b", "c;d"), "kubectl get pod 'a b' -n 'c;d'"),
        (connection.saved("pdb", "web", "shop"), "kubectl get pdb web -n shop -o yaml > web.yaml"),
        (
            connection.patch("pdb", "web", "shop", '{"spec": {}}'),
            "kubectl patch pdb web -n shop --type merge -p '{\"spec\": {}}'",
        ),
        (connection.resource_word("Deployment", "apps"), "deployment"),
        (connection.resource_word("Rollout", "argoproj.io"), "rollout.argoproj.io"),
    ],
)
def test_commands(command: str, expected: str) -> None:
    assert command == expected


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("web-0", "web-0.yaml"),
        ("bare;rm -rf /", "bare_rm_-rf_.yaml"),
        ("../../etc/passwd", "_.._etc_passwd.yaml"),
        ("-rf", "rf.yaml"),
        ("..", "object.yaml"),
        ("x" * 999, "x" * 200 + ".yaml"),
    ],
)
def test_files_stay_in_the_folder(name: str, file: str) -> None:
    assert connection.file_of(name) == file


def evil_plans() -> list[Remedy]:
    """Every remedy of plans full of such names."""
    ns, node = EVIL, replace(a_node("old-0"), name=f"old-{EVIL}")
    fargate = replace(a_node("old-1", labels={"eks.amazonaws.com/compute-type": "fargate"}), name=f"old-f{EVIL}")
    everything = [
        a_pod(f"bare{EVIL}", ns, owner=None, node=node.name),
        a_pod(f"a{EVIL}", ns, owner=f"ReplicaSet/{EVIL}", node=node.name, labels={"app": "a"}),
        a_pod(f"t{EVIL}", ns, owner=f"StatefulSet/{EVIL}", node=node.name, tolerations=(TOLERATES_ALL,)),
        a_pod(f"j{EVIL}", ns, owner=f"Job/{EVIL}", node=node.name, volumes=(a_claimed("c"),)),
        a_pod(f"d{EVIL}", ns, owner=None, node=node.name, deletion_deadline=ago(900)),
        a_pod(f"f{EVIL}", ns, owner=f"ReplicaSet/{EVIL}", node=fargate.name),
        a_pod(f"g{EVIL}", f"{ns}-gone", node=node.name),
        a_pod(f"p{EVIL}", ns, phase="Pending", node=""),
    ]
    workloads = [
        a_workload(f"ReplicaSet/{EVIL}", ns, replicas=1, owner=f"Deployment/{EVIL}"),
        a_workload(f"Deployment/{EVIL}", ns, replicas=1, surges=True),
        a_workload(f"StatefulSet/{EVIL}", ns, replicas=2, template_tolerations=(TOLERATES_ALL,)),
    ]
    budgets = [a_budget(f"b{EVIL}", ns, selector={"app": "a"}, min_available=1, allowed=0, expected=1)]
    found = []
    for several in (budgets, [*budgets, replace(budgets[0], name=f"c{EVIL}")]):
        plan = plan_of(
            nodes=[node, fargate],
            pods=everything,
            workloads=workloads,
            budgets=several,
            services=[Service(ns, EVIL, "LoadBalancer", {"app": "a"})],
            namespaces=[Namespace(f"{ns}-gone", terminating=True)],
            policy=DrainPolicy(partial=True),
        )
        found += [remedy for finding in plan.findings for remedy in finding.remedy]
    return found


def test_no_name_ends_a_word() -> None:
    found = [remedy.command for remedy in evil_plans() if remedy.command]
    assert len(found) > 10
    for command in found:
        split = words(command)
        operators = [word for word in split if set(word) <= set(";&|<>()") and word]
        assert all(op in ("&&", ">") for op in operators), command
        assert not {"rm", "reboot", "ls"} & set(split), command
        for at, word in enumerate(split):
            if word == ">":
                assert "/" not in split[at + 1]
