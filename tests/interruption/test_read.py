"""The requests for `interruption`: in rounds, each once, and none about a resource that is not named."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kubectl_eksdoc.interruption.plan import InterruptionOptions
from kubectl_eksdoc.interruption.read import interruption_facts, read_interruption
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.interruption import (
    InterruptionAnswers,
    InterruptionEvent,
    InterruptionQuery,
    KarpenterInstall,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Container, LogKey
from tests.builders import a_cluster, a_pod
from tests.interruption.healthy import ROLE, a_queue, a_spot_node, told
from tests.sessions import Answered

LABELS = {"app.kubernetes.io/name": "karpenter", "pod-template-hash": "abc"}
KARPENTER = a_pod("karpenter-abc-1", "kube-system", owner="ReplicaSet/karpenter-abc", labels=LABELS)
POD = KARPENTER.key


def deployment(**env: str) -> Doc:
    container = {
        "name": "controller",
        "image": "public.ecr.aws/karpenter/controller:1.5.0",
        "env": [{"name": name, "value": value} for name, value in env.items()],
        "ports": [{"name": "http-metrics", "containerPort": 8080}],
    }
    return {"spec": {"replicas": 1, "template": {"spec": {"containers": [container], "serviceAccountName": "k"}}}}


@dataclass
class Everybody:
    """All sources: objects by kind, logs and metrics of the pod, and AWS. Mutable: `asked` holds the requests."""

    objects: Mapping[str, Any]
    aws: InterruptionAnswers = field(default_factory=told)
    ended: bool = False
    ready: bool = False
    asked: list[Any] = field(default_factory=list)

    def read_object(self, of: ObjectName) -> Doc | Absent | Unknown:
        self.asked.append(of.kind)
        found: Doc | Absent | Unknown = self.objects.get(of.kind, Absent(f"there is no {of}"))
        return found

    has_logs = False

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        return {pod: (self.controller, Container("sidecar")) for pod in pods}

    @property
    def controller(self) -> Container:
        return Container("controller", ready=self.ready, ended_before=self.ended)

    def logs(self, asked: Collection[LogKey]) -> Mapping[LogKey, str | Absent | Unknown]:
        self.asked += asked
        return {log: f"{log.container} {log.previous}" for log in asked}

    def events(self) -> tuple[InterruptionEvent, ...] | Unknown:
        self.asked.append("events")
        return ()

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        self.asked.append((pod, port))
        return ""

    def tell(self, keys: InterruptionQuery) -> InterruptionAnswers:
        self.asked.append(keys)
        wanted = (each.name for each in fields(keys) if getattr(keys, each.name))
        return InterruptionAnswers(**{name: getattr(self.aws, name) for name in wanted})

    def session(self, cluster: Cluster) -> Answered:
        return Answered(cluster, self.tell, self)

    @property
    def rounds(self) -> list[InterruptionQuery]:
        return [each for each in self.asked if isinstance(each, InterruptionQuery)]


ACCOUNT = {"metadata": {"annotations": {"eks.amazonaws.com/role-arn": ROLE}}}
SPOT = a_spot_node("spot-0", provider_id="aws:///eu-west-1a/i-0123")


def test_two_rounds_and_nothing_twice() -> None:
    who = Everybody({"Deployment": deployment(INTERRUPTION_QUEUE="prod"), "ServiceAccount": ACCOUNT})
    cluster = a_cluster(nodes=[SPOT], pods=[KARPENTER])
    facts = interruption_facts(who.session(cluster))
    first, second = who.rounds
    assert (first.queue, first.rules, first.identity, first.notices) == (
        "prod",
        True,
        ("kube-system", "k"),
        ("i-0123",),
    )
    assert (second.queue, second.rules, second.policies) == ("", False, ROLE) and len(second.targets) == 4
    given = [each.name for keys in who.rounds for each in fields(keys) if getattr(keys, each.name)]
    assert len(given) == len(set(given))
    assert isinstance(facts.install, KarpenterInstall) and facts.logs == {POD: "controller False"}
    assert (POD, 8080) in who.asked and who.asked.count("events") == 1


def test_one_that_ended_is_asked_why() -> None:
    who = Everybody({"Deployment": deployment(INTERRUPTION_QUEUE="prod")}, ended=True)
    assert interruption_facts(who.session(a_cluster(pods=[KARPENTER]))).logs == {
        POD: "controller True\ncontroller False"
    }


def test_what_one_said_that_ended_is_over_where_the_next_one_serves() -> None:
    who = Everybody({"Deployment": deployment(INTERRUPTION_QUEUE="prod")}, ended=True, ready=True)
    assert interruption_facts(who.session(a_cluster(pods=[KARPENTER]))).logs == {POD: "controller False"}


def test_without_spot_nodes_nobody_is_asked_for_notices() -> None:
    who = Everybody({"Deployment": deployment(INTERRUPTION_QUEUE="prod")})
    interruption_facts(who.session(a_cluster(pods=[KARPENTER])))
    assert "events" not in who.asked and not any(keys.notices for keys in who.rounds)


def test_a_deployment_that_may_not_be_read_leaves_the_rest() -> None:
    denied = Unknown("forbidden", "get deployments.apps")
    who = Everybody({"Deployment": denied})
    facts = interruption_facts(who.session(a_cluster(nodes=[SPOT], pods=[KARPENTER])))
    assert facts.install == denied and len(who.rounds) == 1


def test_the_key_of_the_queue_is_asked_for_where_it_has_one() -> None:
    who = Everybody({"Deployment": deployment(INTERRUPTION_QUEUE="prod")}, told(queue=a_queue(key="alias/k")))
    interruption_facts(who.session(a_cluster(pods=[KARPENTER])))
    assert [keys.key for keys in who.rounds] == ["", "alias/k"]


def test_which_queue_is_asked_for() -> None:
    def name(wanted: str = "", **env: str) -> str:
        who = Everybody({"Deployment": deployment(**env)})
        return interruption_facts(who.session(a_cluster(pods=[KARPENTER])), wanted).queue

    assert name(INTERRUPTION_QUEUE="set", CLUSTER_NAME="other") == "set"
    assert name(CLUSTER_NAME="other") == "other" and name() == "prod", "then the cluster's"
    assert name("mine", INTERRUPTION_QUEUE="set") == "mine"
    unknown = deployment()
    unknown["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"secretRef": {"name": "s"}}]
    who = Everybody({"Deployment": unknown})
    facts = interruption_facts(who.session(a_cluster(pods=[KARPENTER])))
    assert facts.queue == "" and who.rounds[0].queue == ""


def test_a_second_karpenter_is_named() -> None:
    labels = {**LABELS}
    other = a_pod("k-abc-1", "infra", owner="ReplicaSet/k-abc", labels=labels)
    who = Everybody({"Deployment": deployment(INTERRUPTION_QUEUE="prod")})
    plan = read_interruption(who.session(a_cluster(pods=[other, KARPENTER])), InterruptionOptions())
    (finding,) = (each for each in plan.findings if each.code.name == "interruption-karpenter")
    assert finding.subject.name == "karpenter" and finding.status.value == "unknown"
