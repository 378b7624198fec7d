"""What is shown of workloads, jobs and budgets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.embedded.api.tables.showing import an_object, shown

Doc = dict[str, Any]

TEMPLATE = {"spec": {"containers": [{"name": "app", "image": "app:1"}, {"name": "log", "image": "log:2"}]}}
SELECTOR = {
    "matchLabels": {"tier": "web", "app": "shop"},
    "matchExpressions": [
        {"key": "zone", "operator": "In", "values": ["b", "a"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "new", "operator": "Exists"},
        {"key": "track", "operator": "NotIn", "values": ["canary"]},
    ],
}
AS_TEXT = "app=shop,new,!old,tier=web,track notin (canary),zone in (a,b)"
WIDE = {"Containers": "app,log", "Images": "app:1,log:2", "Selector": AS_TEXT}
SPEC = {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE}


def test_a_deployment() -> None:
    status = {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1, "replicas": 4}
    assert shown("deployments.v1.apps", an_object("web", spec=SPEC, status=status)) == {
        "Name": "web",
        "Ready": "2/3",
        "Up-to-date": 3,
        "Available": 1,
        "Age": "5m20s",
        **WIDE,
    }


def test_a_replica_set() -> None:
    status = {"replicas": 3, "readyReplicas": 2}
    counts = {"Desired": 3, "Current": 3, "Ready": 2}
    assert shown("replicasets.v1.apps", an_object("web-1", spec=SPEC, status=status)) == {
        "Name": "web-1",
        **counts,
        "Age": "5m20s",
        **WIDE,
    }


def test_a_stateful_set() -> None:
    assert shown("statefulsets.v1.apps", an_object("db", spec=SPEC, status={"readyReplicas": 3})) == {
        "Name": "db",
        "Ready": "3/3",
        "Age": "5m20s",
        "Containers": "app,log",
        "Images": "app:1,log:2",
    }


@pytest.mark.parametrize(
    ("node_selector", "text"), [({}, "<none>"), ({"b": "2", "a": "1"}, "a=1,b=2"), (None, "<none>")]
)
def test_a_daemon_set(node_selector: Doc | None, text: str) -> None:
    template = {"spec": {**TEMPLATE["spec"], "nodeSelector": node_selector}}
    status = {
        "desiredNumberScheduled": 5,
        "currentNumberScheduled": 4,
        "numberReady": 3,
        "updatedNumberScheduled": 2,
        "numberAvailable": 1,
    }
    daemon_set = an_object("agent", spec={"selector": SELECTOR, "template": template}, status=status)
    assert shown("daemonsets.v1.apps", daemon_set) == {
        "Name": "agent",
        "Desired": 5,
        "Current": 4,
        "Ready": 3,
        "Up-to-date": 2,
        "Available": 1,
        "Node Selector": text,
        "Age": "5m20s",
        **WIDE,
    }


@pytest.mark.parametrize(
    ("spec", "least", "most"),
    [
        ({"minAvailable": "50%"}, "50%", "N/A"),
        ({"maxUnavailable": 0}, "N/A", "0"),
        ({}, "N/A", "N/A"),
    ],
)
def test_a_budget(spec: Doc, least: str, most: str) -> None:
    budget = an_object("web", spec=spec, status={"disruptionsAllowed": 1})
    assert shown("poddisruptionbudgets.v1.policy", budget) == {
        "Name": "web",
        "Min Available": least,
        "Max Unavailable": most,
        "Allowed Disruptions": 1,
        "Age": "5m20s",
    }


STARTED = "2026-11-20T08:55:00Z"


def a_job(spec: Doc | None = None, meta: Doc | None = None, **status: Any) -> Doc:
    return an_object("job", meta=meta, spec={"completions": 3, "template": TEMPLATE, **(spec or {})}, status=status)


@pytest.mark.parametrize(
    ("job", "word"),
    [
        (a_job(), "Running"),
        (a_job(conditions=[{"type": "Complete", "status": "True"}]), "Complete"),
        (a_job(conditions=[{"type": "Failed", "status": "False"}]), "Running"),
        (a_job(meta={"deletionTimestamp": STARTED}), "Terminating"),
        (a_job(conditions=[{"type": "Suspended", "status": "True"}]), "Suspended"),
        (a_job(conditions=[{"type": "SuccessCriteriaMet", "status": "True"}]), "SuccessCriteriaMet"),
    ],
)
def test_how_a_job_stands(job: Doc, word: str) -> None:
    assert shown("jobs.v1.batch", job)["Status"] == word


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (a_job(succeeded=2), "2/3"),
        (a_job({"completions": None}), "0/1"),
        (a_job({"completions": None, "parallelism": 1}, succeeded=1), "1/1"),
        (a_job({"completions": None, "parallelism": 4}, succeeded=1), "1/1 of 4"),
    ],
)
def test_how_far_a_job_is(job: Doc, text: str) -> None:
    assert shown("jobs.v1.batch", job)["Completions"] == text


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (a_job(), ""),
        (a_job(startTime=STARTED), "5m"),
        (a_job(startTime=STARTED, completionTime="2026-11-20T08:56:30Z"), "90s"),
    ],
)
def test_how_long_a_job_took(job: Doc, text: str) -> None:
    said = shown("jobs.v1.batch", job)
    assert (said["Duration"], said["Age"], said["Containers"], said["Selector"]) == (text, "5m20s", "app,log", "<none>")
