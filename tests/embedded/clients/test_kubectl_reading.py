"""Output of kubectl commands that read the served cluster."""

from __future__ import annotations

import re

import pytest

from tests.embedded.clients import worlds
from tests.embedded.clients.programs import Kubectl

POD = "app-0-77746998fd-4s5st"


def rows(text: str) -> list[list[str]]:
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines() if line]


@pytest.mark.long
def test_wide_lists_of_several_kinds(looking: Kubectl) -> None:
    said = looking("get", "nodes,pods,pdb", "-A", "-o", "wide")
    nodes, pods, budgets = (rows(block) for block in said.strip().split("\n\n"))
    assert nodes[0][:5] == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"] and len(nodes) == 1 + 12
    assert nodes[1][0] == "node/new-0" and nodes[1][1] == "Ready" and "Amazon Linux 2023" in nodes[1]
    assert pods[0][:8] == ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    assert len(pods) == 1 + 131
    assert next(row for row in pods if row[1] == f"pod/{POD}")[2:5] == ["1/1", "Running", "0"]
    assert budgets[0] == ["NAMESPACE", "NAME", "MIN AVAILABLE", "MAX UNAVAILABLE", "ALLOWED DISRUPTIONS", "AGE"]
    zero = next(row for row in budgets if row[1].endswith("/trap-zero"))
    assert zero[:5] == ["default", "poddisruptionbudget.policy/trap-zero", "N/A", "0", "0"]


@pytest.mark.long
def test_a_node_described(looking: Kubectl) -> None:
    said = looking("describe", "node", "old-0")
    assert re.search(r"^Unschedulable: +false$", said, re.M)
    assert re.search(r"^Non-terminated Pods: +\(\d+ in total\)$", said, re.M)
    assert re.search(rf"^  default +{POD} ", said, re.M)
    assert re.search(r"^  Resource +Requests +Limits$", said, re.M)
    assert re.search(r"^Events: +<none>$", said, re.M)


def test_what_is_not_there(looking: Kubectl) -> None:
    assert looking.refused("get", "pod", "nope") == 'Error from server (NotFound): pods "nope" not found\n'
    assert "doesn't have a resource type" in looking.refused("get", "nopes")
    assert looking.ran("get", "events").err == "No resources found in default namespace.\n"
    assert looking.ran("get", "events", "-A").err == "No resources found\n"


@pytest.mark.long
def test_versions_and_kinds(looking: Kubectl) -> None:
    assert looking.json("version")["serverVersion"]["gitVersion"].startswith("v1.36.")
    kinds = rows(looking("api-resources"))
    assert ["poddisruptionbudgets", "pdb", "policy/v1", "true", "PodDisruptionBudget"] in kinds
    assert "policy/v1" in looking("api-versions").split()
    assert "is running at" in looking("cluster-info")


@pytest.mark.long
def test_raw_paths(looking: Kubectl) -> None:
    """A raw path is the whole path: kubectl does not put the server's own path, which has the token, before it."""
    token = f"/as/{worlds.ADMIN_TOKEN}"
    metrics = looking("get", "--raw", f"{token}/metrics").splitlines()
    assert metrics[1] == "# TYPE apiserver_requested_deprecated_apis gauge"
    assert metrics[2] == (
        'apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",'
        'resource="poddisruptionbudgets",subresource="",version="v1beta1"} 1'
    )
    assert looking("get", "--raw", f"{token}/readyz") == "ok"
    assert "Unauthorized" in looking.refused("get", "--raw", "/metrics")
