"""What makes pods becomes the facts it should, with the API's defaults for what is absent."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import ControllerOwner, Toleration
from kubectl_eksdoc.model.workloads import Job, PodTemplate, RebootLock, Workload
from tests.objects.observing import observed


def a_workload_of(resource: Resource, **fields: Any) -> Workload:
    (workload,) = observed(resource, **fields).workloads
    return workload


def test_a_deployment() -> None:
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"nodeName": "n-1", "tolerations": [{"operator": "Exists"}]},
    }
    owner = {"apiVersion": "example.com/v1", "kind": "App", "name": "a", "uid": "1", "controller": True}
    assert a_workload_of(
        kinds.DEPLOYMENTS, meta={"ownerReferences": [owner]}, spec={"replicas": 0, "template": template}
    ) == Workload(
        kind="Deployment",
        namespace="shop",
        name="x",
        uid="u",
        replicas=0,
        owner=ControllerOwner("App", "a", "1", "example.com"),
        template_labels={"app": "x"},
        template_tolerations=(Toleration(operator="Exists"),),
        pinned_to="n-1",
        surges=True,
    )


@pytest.mark.parametrize(
    ("resource", "fields", "replicas"),
    [
        (kinds.REPLICA_SETS, {"spec": {"replicas": 4}}, 4),
        (kinds.STATEFUL_SETS, {}, 1),
        (kinds.REPLICATION_CONTROLLERS, {"spec": {"template": None}}, 1),
        (kinds.DAEMON_SETS, {"status": {"desiredNumberScheduled": 7}}, 7),
        (kinds.DAEMON_SETS, {}, 0),
    ],
)
def test_replicas(resource: Resource, fields: dict[str, Any], replicas: int) -> None:
    workload = a_workload_of(resource, **fields)
    assert (workload.kind, workload.replicas, workload.surges) == (resource.kind, replicas, False)


@pytest.mark.parametrize(
    ("strategy", "surges"),
    [
        (None, True),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}}, True),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}, False),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "0%"}}, False),
        ({"type": "Recreate"}, False),
    ],
)
def test_surges(strategy: dict[str, Any] | None, surges: bool) -> None:
    assert a_workload_of(kinds.DEPLOYMENTS, spec={"strategy": strategy}).surges is surges


def test_a_job() -> None:
    rules = [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ]
    (job,) = observed(
        kinds.JOBS,
        spec={"backoffLimit": 0, "completions": 10, "podFailurePolicy": {"rules": rules}},
        status={"active": 3, "succeeded": 2, "failed": 1},
    ).jobs
    assert job == Job("shop", "x", "u", 0, 3, 2, 1, 10, finished=False, ignores_disruption=True)
    assert observed(kinds.JOBS, spec={"backoffLimitPerIndex": 0}).jobs[0].backoff_limit_per_index == 0
    assert observed(kinds.JOBS).jobs == (Job("shop", "x", "u"),)


@pytest.mark.parametrize(
    ("kind", "status", "finished"),
    [
        ("Complete", "True", True),
        ("Failed", "False", False),
        ("SuccessCriteriaMet", "True", False),
    ],
)
def test_when_a_job_is_finished(kind: str, status: str, finished: bool) -> None:
    conditions = {"conditions": [{"type": kind, "status": status}]}
    assert observed(kinds.JOBS, status=conditions).jobs[0].finished is finished


EVICTED = [{"type": "DisruptionTarget", "status": "True"}]


@pytest.mark.parametrize(
    ("rules", "ignores", "fails"),
    [
        ([{"action": "FailJob", "onPodConditions": EVICTED}], False, True),
        ([{"action": "FailIndex", "onPodConditions": EVICTED}], False, True),
        ([{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}], False, True),
        ([{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "False"}]}], False, False),
        ([{"action": "FailJob", "onPodConditions": [{"type": "Other", "status": "True"}]}], False, False),
        (
            [{"action": "Ignore", "onPodConditions": EVICTED}, {"action": "FailJob", "onPodConditions": EVICTED}],
            True,
            False,
        ),
        (
            [{"action": "Count", "onPodConditions": EVICTED}, {"action": "FailJob", "onPodConditions": EVICTED}],
            False,
            False,
        ),
    ],
)
def test_the_first_rule_for_disruptions_decides(rules: list[dict[str, Any]], ignores: bool, fails: bool) -> None:
    (job,) = observed(kinds.JOBS, spec={"podFailurePolicy": {"rules": rules}}).jobs
    assert (job.ignores_disruption, job.fails_on_disruption) == (ignores, fails)


def rolling(**amounts: Any) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": amounts}


@pytest.mark.parametrize(
    ("replicas", "strategy", "away"),
    [
        (1, None, 0),
        (4, None, 1),  # 25 % rounds down
        (3, rolling(maxUnavailable="50%"), 1),
        (3, rolling(maxUnavailable=2), 2),
        (1, rolling(maxSurge=1, maxUnavailable=1), 1),
        (2, rolling(maxUnavailable=5), 2),
        (2, rolling(maxSurge=0, maxUnavailable=0), 1),  # nothing would ever move
        (5, {"type": "Recreate"}, 5),
        (0, None, 0),
    ],
)
def test_how_many_pods_a_rollout_takes_away(replicas: int, strategy: dict[str, Any] | None, away: int) -> None:
    found = a_workload_of(kinds.DEPLOYMENTS, spec={"replicas": replicas, "strategy": strategy})
    assert found.rollout_unavailable == away


def test_a_paused_deployment() -> None:
    assert a_workload_of(kinds.DEPLOYMENTS, spec={"paused": True}).paused
    assert not a_workload_of(kinds.DEPLOYMENTS).paused


ONE = '{"nodeID":"n-1","metadata":{"unschedulable":false},"created":"2026-11-20T08:00:00Z","TTL":%d}'
TWO = f"""{{"maxOwners":2,"locks":[{ONE % 0},{(ONE % 0).replace("n-1", "n-2")}]}}"""


@pytest.mark.parametrize(
    ("written", "locks"),
    [
        (ONE % 0, (RebootLock("n-1"),)),
        (ONE % 60_000_000_000, (RebootLock("n-1", datetime(2026, 11, 20, 8, 1, tzinfo=timezone.utc)),)),
        (TWO, (RebootLock("n-1"), RebootLock("n-2"))),
        ('{"maxOwners":2,"locks":null}', ()),
        ("{", ()),
        ("[]", ()),
    ],
)
def test_kureds_locks_on_its_daemon_set(written: str, locks: tuple[RebootLock, ...]) -> None:
    meta = {"annotations": {"weave.works/kured-node-lock": written, "other": "1"}}
    assert a_workload_of(kinds.DAEMON_SETS, meta=meta).reboot_locks == locks
    assert a_workload_of(kinds.DEPLOYMENTS, meta=meta).reboot_locks == ()


@pytest.mark.parametrize(
    ("spec", "template"),
    [
        ({}, PodTemplate()),
        ({"containers": [{"name": "a"}, {"readinessProbe": {"exec": {}}}]}, PodTemplate(probed=True)),
        ({"containers": [{"args": ['"readinessProbe": {']}]}, PodTemplate()),
        ({"readinessGates": [{"conditionType": "x"}]}, PodTemplate(probed=True)),
        ({"topologySpreadConstraints": [{"maxSkew": 1}]}, PodTemplate(spread=True)),
        (
            {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}},
            PodTemplate(spread=True),
        ),
        ({"affinity": {"podAntiAffinity": {}}, "topologySpreadConstraints": []}, PodTemplate()),
        ({"terminationGracePeriodSeconds": 0}, PodTemplate(grace_s=0)),
    ],
)
def test_what_a_template_says_of_its_pods(spec: dict[str, Any], template: PodTemplate) -> None:
    given = {"template": {"spec": spec}, "minReadySeconds": 5}
    made = a_workload_of(kinds.DEPLOYMENTS, spec=given)
    assert (made.template, made.min_ready_s) == (template, 5)
