"""Workloads, the host paths that their templates mount, and API extensions become facts."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ApiService, CrdVersion, CustomResourceDefinition, ServerTarget
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import ControllerOwner, Toleration, Volume, VolumeKind
from kubectl_eksdoc.model.placement import (
    ANY_NODE,
    HostPort,
    NodeRequirements,
    NodeTerm,
    Placement,
    PodAffinityTerm,
    ResourceRequests,
    TopologySpread,
)
from kubectl_eksdoc.model.selectors import EVERYTHING, NOTHING, Requirement, from_parts
from kubectl_eksdoc.model.workloads import NO_HOST_FILES, CronJob, HostFiles, Job, PodTemplate, RebootLock, Workload
from kubectl_eksdoc.objects.collector import FactCollector, InvalidAnswer
from tests.any_json import anything
from tests.objects.observing import T0, fact, observed


def test_a_deployment() -> None:
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"nodeName": "n-1", "tolerations": [{"operator": "Exists"}]},
    }
    owner = {"apiVersion": "example.com/v1", "kind": "App", "name": "a", "uid": "1", "controller": True}
    assert fact(
        kinds.DEPLOYMENTS, meta={"ownerReferences": [owner]}, spec={"replicas": 0, "template": template, "paused": True}
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
        paused=True,
    )


@pytest.mark.parametrize(
    ("resource", "fields", "replicas"),
    [
        (kinds.REPLICA_SETS, {"spec": {"replicas": 4}}, 4),
        (kinds.STATEFUL_SETS, {}, 1),
        (kinds.REPLICATION_CONTROLLERS, {"spec": {"template": None}}, 1),
        (kinds.DAEMON_SETS, {"status": {"desiredNumberScheduled": 7}}, 7),
    ],
)
def test_replicas(resource: Resource, fields: dict[str, Any], replicas: int) -> None:
    workload = fact(resource, **fields)
    assert (workload.kind, workload.replicas, workload.surges) == (resource.kind, replicas, False)


def test_a_job() -> None:
    rules = [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ]
    job = fact(
        kinds.JOBS,
        spec={"backoffLimit": 0, "completions": 10, "podFailurePolicy": {"rules": rules}},
        status={"active": 3, "succeeded": 2, "failed": 1},
    )
    assert job == Job("shop", "x", "u", 0, 3, 2, 1, 10, finished=False, ignores_disruption=True)
    assert fact(kinds.JOBS, spec={"backoffLimitPerIndex": 0}).backoff_limit_per_index == 0
    assert fact(kinds.JOBS) == Job("shop", "x", "u")


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
    assert fact(kinds.JOBS, status=conditions).finished is finished


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
    job = fact(kinds.JOBS, spec={"podFailurePolicy": {"rules": rules}})
    assert (job.ignores_disruption, job.fails_on_disruption) == (ignores, fails)


def rolling(**amounts: Any) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": amounts}


@pytest.mark.parametrize(
    ("replicas", "strategy", "surges", "away"),
    [
        (1, None, True, 0),
        (4, None, True, 1),  # 25 % rounds down
        (3, rolling(maxUnavailable="50%"), True, 1),
        (2, rolling(maxSurge=1, maxUnavailable=5), True, 2),
        (2, rolling(maxSurge=0, maxUnavailable=0), False, 1),  # nothing would ever move
        (8, rolling(maxSurge="0%"), False, 2),
        (5, {"type": "Recreate"}, False, 5),
        (0, None, True, 0),
    ],
)
def test_how_many_pods_a_rollout_adds_and_takes_away(
    replicas: int, strategy: dict[str, Any] | None, surges: bool, away: int
) -> None:
    found = fact(kinds.DEPLOYMENTS, spec={"replicas": replicas, "strategy": strategy})
    assert (found.surges, found.rollout_unavailable, found.paused) == (surges, away, False)


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
    ],
)
def test_kureds_locks_on_its_daemon_set(written: str, locks: tuple[RebootLock, ...]) -> None:
    meta = {"annotations": {"weave.works/kured-node-lock": written, "other": "1"}}
    assert fact(kinds.DAEMON_SETS, meta=meta).reboot_locks == locks
    assert fact(kinds.DEPLOYMENTS, meta=meta).reboot_locks == ()


@pytest.mark.parametrize(
    ("spec", "template"),
    [
        ({"containers": [{"name": "a"}, {"readinessProbe": {"exec": {}}}]}, PodTemplate(has_readiness_check=True)),
        ({"containers": [{"args": ['"readinessProbe": {']}]}, PodTemplate()),
        ({"readinessGates": [{"conditionType": "x"}]}, PodTemplate(has_readiness_check=True)),
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
    made = fact(kinds.DEPLOYMENTS, spec=given)
    assert (made.template, made.min_ready_s) == (template, 5)


SOCK = "/var/run/docker.sock"
ENTRY = {"name": "sock", "hostPath": {"path": SOCK, "type": "Socket"}}
HOST = HostFiles((Volume("sock", VolumeKind.HOST_PATH, SOCK, path_type="Socket"),))


def a_template(*volumes: Any, **spec: Any) -> dict[str, Any]:
    return {"spec": {"volumes": list(volumes), **spec}}


def test_of_a_job_and_its_owner() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "etl", "uid": "1", "controller": True}
    found = fact(kinds.JOBS, meta={"ownerReferences": [owner]}, spec={"template": a_template(ENTRY)})
    assert (found.host, found.owner) == (HOST, ControllerOwner("CronJob", "etl", "1", "batch"))


def test_of_a_cron_job() -> None:
    spec = {"jobTemplate": {"spec": {"template": a_template(ENTRY)}}}
    assert fact(kinds.CRON_JOBS, spec=spec) == CronJob("shop", "x", "u", HOST)

    for lacks in (None, {"spec": {"template": None}}):
        assert fact(kinds.CRON_JOBS, spec={"jobTemplate": lacks}) == CronJob("shop", "x", "u")


def test_words_that_name_a_socket() -> None:
    containers = [
        {"name": "a", "args": ["-H", f"unix://{SOCK}"], "env": [{"name": "X", "value": SOCK}, {"name": "Y"}]},
        {"name": "b", "command": ["sleep", "1"], "args": None},
    ]
    inits = [{"name": "i", "command": ["test", "-S", SOCK]}]
    template = a_template(ENTRY, containers=containers, initContainers=inits)
    found = fact(kinds.DAEMON_SETS, spec={"template": template})
    assert found.host == HostFiles(HOST.volumes, (SOCK, f"unix://{SOCK}"))


def test_containers_are_not_looked_at_without_a_host_path() -> None:
    others = {"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": None}, {"name": "c"}
    template = a_template(*others, containers="nonsense")
    assert fact(kinds.DEPLOYMENTS, spec={"template": template}).host is NO_HOST_FILES


KEYS = [
    "template", "spec", "volumes", "hostPath", "path", "jobTemplate",
    "service", "name", "versions", "conversion", "webhook", "clientConfig",
    "strategy", "conditions", "storedVersions", "containers", "args", "metadataOptions",
    "httpTokens", "httpPutResponseHopLimit", "amiSelectorTerms", "tags",
]  # fmt: skip
ANYTHING = anything(keys=st.sampled_from(KEYS))


@pytest.mark.parametrize(
    "resource",
    [kinds.DEPLOYMENTS, kinds.JOBS, kinds.CRON_JOBS, kinds.API_SERVICES, kinds.DEFINITIONS, kinds.NODE_CLASSES],
)
@given(spec=ANYTHING, status=ANYTHING)
def test_whatever_comes_is_read_or_refused(resource: Resource, spec: Any, status: Any) -> None:
    try:
        found = observed(resource, spec=spec, status=status)
    except InvalidAnswer:
        return
    assert isinstance(found, Cluster)


def test_an_api_service() -> None:
    conditions = [
        {"type": "Other", "status": "True"},
        {"type": "Available", "status": "False", "reason": "MissingEndpoints", "message": "no addresses"},
    ]
    spec = {"group": "metrics.k8s.io", "version": "v1beta1", "service": {"namespace": "kube-system", "name": "ms"}}
    assert fact(kinds.API_SERVICES, spec=spec, status={"conditions": conditions}) == ApiService(
        "x",
        "metrics.k8s.io",
        "v1beta1",
        ServerTarget("kube-system", "ms"),
        "False",
        "MissingEndpoints",
        "no addresses",
    )


def test_a_definition() -> None:
    client = {"service": {"namespace": "ops", "name": "hook", "path": "/convert"}, "caBundle": "LS0="}
    spec = {
        "names": {"kind": "Backup", "plural": "backups"},
        "versions": [{"name": "v1alpha1", "served": True}, {"name": "v1", "served": True}, {}],
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client}},
    }
    assert fact(kinds.DEFINITIONS, spec=spec, status={"storedVersions": ["v1"]}) == CustomResourceDefinition(
        "x",
        "Backup",
        (CrdVersion("v1alpha1", True), CrdVersion("v1", True), CrdVersion("")),
        ("v1",),
        ServerTarget("ops", "hook"),
    )


@pytest.mark.parametrize(
    ("conversion", "converter"),
    [
        (None, None),
        ({"strategy": "Webhook"}, ServerTarget()),
        ({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x"}}}, ServerTarget(url="https://x")),
    ],
)
def test_who_converts(conversion: object, converter: ServerTarget | None) -> None:
    found = fact(kinds.DEFINITIONS, spec={"conversion": conversion})
    assert found.converter == converter


# The placement rules in a pod's spec become one fact, which replicas share.

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GPU = "nvidia.com/gpu"


def placement(**spec: Any) -> Placement:
    return fact(kinds.PODS, spec=spec).placement


def container(restart: str | None = None, ports: Any = None, **requests: Any) -> dict[str, Any]:
    names = {"gpu": GPU, "huge": "hugepages-2Mi", "storage": "ephemeral-storage"}
    asked = {names.get(name, name): amount for name, amount in requests.items()}
    made: dict[str, Any] = {"name": "c", "resources": {"requests": asked, "limits": {"cpu": "9"}}}
    return made | ({"restartPolicy": restart} if restart else {}) | ({"ports": ports} if ports else {})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [container(cpu=1, memory=128974848)]}, ResourceRequests(1000, 128974848)),
        ({"containers": [container(cpu="0.5"), container(cpu="0.4")]}, ResourceRequests(900)),
        (
            {"containers": [container(gpu="2", huge="4Mi", storage="1Gi"), container(gpu="1")]},
            ResourceRequests(ephemeral=1 << 30, others=(("hugepages-2Mi", 4 << 20), (GPU, 3))),
        ),
        ({"containers": [container(gpu="0", pods="1", storage="0")]}, ResourceRequests()),
        # An init container alone, more than all containers together; then less.
        ({"containers": [container(cpu="1")], "initContainers": [container(cpu="3")]}, ResourceRequests(3000)),
        # A sidecar runs beside the containers, and beside the init containers that come after it.
        (
            {"containers": [container(cpu="1")], "initContainers": [container("Always", cpu="2")]},
            ResourceRequests(3000),
        ),
        (
            {
                "containers": [container(cpu="1")],
                "initContainers": [container(cpu="5"), container("Always", cpu="2"), container(cpu="4")],
            },
            ResourceRequests(6000),
        ),
        (
            {"containers": [container(cpu="1")], "overhead": {"cpu": "250m", "memory": "1Ki"}},
            ResourceRequests(1250, 1024),
        ),
        # Pod-level requests replace the sum, for the resources that they may name.
        (
            {
                "containers": [container(cpu="3", memory="1Ki", gpu="1")],
                "resources": {"requests": {"cpu": "2", GPU: "9"}},
                "overhead": {"cpu": "1"},
            },
            ResourceRequests(3000, 1024, others=((GPU, 1),)),
        ),
    ],
)
def test_requests_are_added_as_the_scheduler_adds_them(spec: dict[str, Any], expected: ResourceRequests) -> None:
    assert placement(**spec).requests == expected


def test_a_pod_that_asks_for_nothing_is_the_shared_one() -> None:
    assert placement() is ANY_NODE
    assert placement(containers=[{"name": "c"}], schedulerName="default-scheduler") is ANY_NODE
    preferred = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}
    anyway = [{"topologyKey": "z", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}]
    assert placement(affinity=preferred, topologySpreadConstraints=anyway) is ANY_NODE


def test_nothing_stumbles_over_null() -> None:
    names = ("containers", "initContainers", "resources", "overhead", "nodeSelector", "affinity")
    more = ("topologySpreadConstraints", "schedulerName", "schedulingGates", "resourceClaims")
    assert placement(**dict.fromkeys(names + more)) is ANY_NODE
    hollow = {"nodeAffinity": {REQUIRED: None}, "podAffinity": {REQUIRED: None}, "podAntiAffinity": None}
    assert placement(affinity=hollow, containers=[{"ports": None, "resources": None}]) is ANY_NODE


def test_demands_of_nodes() -> None:
    term = {
        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
    }
    found = placement(
        nodeSelector={"z": "1", "a": "2"},
        affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term, {}]}}},
    )
    first = NodeTerm((Requirement("zone", "In", ("a", "b")),), (Requirement("metadata.name", "In", ("n",)),))
    assert found.nodes == NodeRequirements((("a", "2"), ("z", "1")), (first, NodeTerm()))
    none = placement(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}})
    assert none.nodes == NodeRequirements((), ())


def test_demands_of_other_pods() -> None:
    full = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "namespaces": ["a", "b"],
        "namespaceSelector": {},
        "matchLabelKeys": ["hash"],
        "mismatchLabelKeys": ["team"],
    }
    found = placement(affinity={"podAffinity": {REQUIRED: [full]}, "podAntiAffinity": {REQUIRED: [{}]}})
    term = PodAffinityTerm("zone", from_parts({"app": "x"}), ("a", "b"), EVERYTHING, ("hash",), ("team",))
    assert found.affinity == (term,)
    assert found.anti_affinity == (PodAffinityTerm("", NOTHING),)


def test_spread_constraints_and_their_defaults() -> None:
    plain = {"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}
    full = plain | {
        "labelSelector": {"matchLabels": {"app": "x"}},
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["hash"],
    }
    found = placement(topologySpreadConstraints=[plain, full, plain | {"whenUnsatisfiable": "ScheduleAnyway"}])
    assert found.spread == (
        TopologySpread("zone", 2, NOTHING, 1, honours_affinity=True, honours_taints=False),
        TopologySpread("zone", 2, from_parts({"app": "x"}), 3, False, True, ("hash",)),
    )


def test_ports_of_the_node_are_those_of_containers_and_sidecars() -> None:
    dns = [{"containerPort": 53, "hostPort": 53, "protocol": "UDP"}, {"containerPort": 8080}]
    web = [{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"}, {"containerPort": 9, "hostPort": 0}]
    found = placement(
        containers=[container(ports=web)],
        initContainers=[container("Always", ports=dns), container(ports=[{"hostPort": 1}])],
    )
    assert found.ports == (HostPort(53, "UDP", "0.0.0.0"), HostPort(80, "TCP", "10.0.0.1"))
    assert placement(containers=[container(ports=web)]).ports == (HostPort(80, "TCP", "10.0.0.1"),)


def test_what_is_not_modelled_is_seen() -> None:
    found = placement(schedulerName="mine", schedulingGates=[{"name": "g"}], resourceClaims=[{"name": "gpu"}])
    assert found == Placement(scheduler="mine", gated=True, claims_devices=True)
    assert len(found.unmodeled_constraints) == 3
    assert placement(schedulingGates=[], resourceClaims=[]).unmodeled_constraints == ()


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"containers": [container(cpu="1 core")]}, "resources.requests.cpu"),
        ({"overhead": {"memory": "x"}}, "$.spec.overhead.memory"),
        ({"affinity": {"nodeAffinity": []}}, "$.spec.affinity.nodeAffinity"),
        ({"topologySpreadConstraints": [{"maxSkew": "1"}]}, "$.spec.topologySpreadConstraints[0].maxSkew"),
        ({"nodeSelector": {"a": 1}}, "$.spec.nodeSelector"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(spec: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidAnswer) as error:
        placement(**spec)
    assert where in str(error.value)
    assert "shop/x" in str(error.value)


def test_an_allocatable_that_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidAnswer, match=r"status\.allocatable\.cpu"):
        observed(kinds.NODES, status={"allocatable": {"cpu": "many"}})
    node = fact(kinds.NODES, status={"allocatable": {"cpu": "3920m", "memory": "7Gi", GPU: 4}})
    assert node.allocatable == {"cpu": 3920, "memory": 7 << 30, GPU: 4}


def gathered(items: list[dict[str, Any]]) -> list[Placement]:
    collector = FactCollector(Source.LIVE)
    collector.add_page(kinds.PODS, json.dumps({"kind": "PodList", "items": items}).encode(), "test")
    return [p.placement for p in collector.cluster(Identity(), T0).pods]


def test_replicas_share_one_placement_whatever_else_differs() -> None:
    def replica(number: int) -> dict[str, Any]:
        mount = {"name": f"kube-api-access-{number}", "mountPath": "/var/run"}
        each = container(cpu="1", ports=[{"containerPort": 80}]) | {"volumeMounts": [mount]}
        return {"metadata": {"name": f"x-{number}", "namespace": "shop"}, "spec": {"containers": [each, each]}}

    found = gathered([replica(n) for n in range(5)])
    assert {id(p) for p in found} == {id(found[0])}
    assert found[0].requests == ResourceRequests(2000)
