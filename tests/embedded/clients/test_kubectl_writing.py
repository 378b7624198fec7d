"""Create and change objects with kubectl."""

from __future__ import annotations

import json

import pytest

from tests.embedded.clients.programs import Kubectl

POD = "app-0-77746998fd-4s5st"


def settings(**data: str) -> str:
    doc = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}
    return json.dumps(doc)


def web(replicas: int = 2) -> str:
    container = {"name": "app", "image": "example.invalid/web:1", "resources": {"requests": {"cpu": "10m"}}}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
    }
    meta = {"name": "web", "labels": {"app": "web"}}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec})


@pytest.mark.long
def test_cordon_and_uncordon(kubectl: Kubectl) -> None:
    assert kubectl("cordon", "old-0") == "node/old-0 cordoned\n"
    assert kubectl("cordon", "old-0") == "node/old-0 already cordoned\n"
    assert "Ready,SchedulingDisabled" in kubectl("get", "node", "old-0")
    assert kubectl("cordon", "old-1", "--dry-run=server") == "node/old-1 cordoned (server dry run)\n"
    assert "SchedulingDisabled" not in kubectl("get", "node", "old-1")
    assert kubectl("uncordon", "old-0") == "node/old-0 uncordoned\n"
    assert "SchedulingDisabled" not in kubectl("get", "node", "old-0")


def test_server_side_apply_says_whose_field_it_is(kubectl: Kubectl) -> None:
    apply = ("apply", "--server-side", "-f", "-", "--field-manager")
    assert kubectl(*apply, "one", given=settings(a="1")) == "configmap/settings serverside-applied\n"
    said = kubectl.refused(*apply, "two", given=settings(a="2"))
    assert 'Apply failed with 1 conflict: conflict with "one": .data.a' in said
    assert kubectl.json("get", "cm", "settings")["data"] == {"a": "1"}
    kubectl(*apply, "two", "--force-conflicts", given=settings(a="2"))
    held = kubectl.json("get", "cm", "settings", "--show-managed-fields")
    assert held["data"] == {"a": "2"}
    owners = {each["manager"]: each for each in held["metadata"]["managedFields"]}
    assert "f:a" in owners["two"]["fieldsV1"]["f:data"]
    assert "one" not in owners or "f:data" not in owners["one"]["fieldsV1"]


@pytest.mark.long
def test_a_deployment_comes_up_grows_and_is_restarted(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", given=web()) == "deployment.apps/web created\n"
    assert 'deployment "web" successfully rolled out' in kubectl("rollout", "status", "deploy/web", "--timeout=30s")
    assert kubectl("scale", "deploy/web", "--replicas=3") == "deployment.apps/web scaled\n"
    assert "condition met" in kubectl("wait", "deploy/web", "--for=jsonpath={.status.readyReplicas}=3", "--timeout=30s")
    before = set(kubectl("get", "pods", "-l", "app=web", "-o", "name").split())
    assert kubectl("rollout", "restart", "deploy/web") == "deployment.apps/web restarted\n"
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=30s")
    kubectl("wait", "--for=delete", "--timeout=30s", *before)
    after = set(kubectl("get", "pods", "-l", "app=web", "-o", "name").split())
    assert len(before) == len(after) == 3 and not before & after
    assert kubectl("rollout", "history", "deploy/web").split()[-4:] == ["1", "<none>", "2", "<none>"]


@pytest.mark.long
def test_a_watch_shows_what_happens(kubectl: Kubectl) -> None:
    with kubectl.going("get", "pods", "-l", "app=app-0", "-w", "--output-watch-events", "--no-headers") as watch:
        assert watch.stdout is not None
        assert [watch.stdout.readline().split()[0] for _ in range(3)] == ["ADDED"] * 3
        kubectl("delete", "pod", POD, "--wait=false")
        seen = []
        while "DELETED" not in seen or "ADDED" not in seen:
            seen.append(watch.stdout.readline().split()[0])
        assert seen[0] == "MODIFIED"


@pytest.mark.long
def test_verbs_that_send_protobuf_since_1_32(kubectl: Kubectl) -> None:
    assert kubectl("create", "namespace", "extra") == "namespace/extra created\n"
    made = kubectl("create", "pdb", "web", "--selector=app=web", "--min-available=50%")
    assert made == "poddisruptionbudget.policy/web created\n"
    budget = kubectl.json("get", "pdb", "web")["spec"]
    assert budget == {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}
    kubectl("create", "configmap", "settings", "--from-literal=a=1")
    assert kubectl.json("get", "cm", "settings")["data"] == {"a": "1"}
    kubectl("create", "deployment", "web", "--image=example.invalid/web:1", "--replicas=2")
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=30s")
    assert kubectl("autoscale", "deployment", "web", "--max=3", "--cpu-percent=80").endswith("/web autoscaled\n")
