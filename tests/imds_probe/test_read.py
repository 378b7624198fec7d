"""The requests to AWS and for pods' logs: every deciding fact, each once; a refusal leaves the other facts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

import pytest

from kubectl_eksdoc.amazon.metadata_service import ImdsReach
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.imds_probe.affected import Effect
from kubectl_eksdoc.imds_probe.plan import plan_metadata
from kubectl_eksdoc.imds_probe.programs import ContainerCommand
from kubectl_eksdoc.imds_probe.read import ProbeScope, add_pod_evidence, plan_imds_access, read_metadata_facts
from kubectl_eksdoc.imds_probe.sources import EvidenceSource, MetadataFacts
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import (
    DeclaredMetadataOptions,
    Image,
    Instance,
    MachineFacts,
    MachineQuery,
    MetadataOptions,
    NodeGroup,
    RoleUses,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)
from kubectl_eksdoc.model.nodes import EKSCTL_GROUP, Calls, Container, ContainerRunState, LogKey, Node, Pod
from tests.builders import NOW, a_cluster, a_node, a_pod
from tests.sessions import Answered, Nowhere

ONE, TWO = MetadataOptions("required", 1), MetadataOptions("required", 2)
OWN, ASG = TemplateRef("lt-own", version="7"), TemplateRef("lt-asg")


def ident(number: int) -> str:
    return f"i-{number:08x}"


def node(number: int, group: str, **labels: str) -> Node:
    return a_node(f"n{number}", group=group, provider_id=f"aws:///eu-west-1a/{ident(number)}", labels=labels)


def cluster() -> Cluster:
    """A group without a template, one with its own, and eksctl's behind an auto scaling group."""
    nodes = [node(0, "green"), node(1, "own"), node(2, "", **{EKSCTL_GROUP: "old"})]
    pods = [a_pod(f"p{n}", node=f"n{n}", calls=Calls(images=("shop/cart:1",))) for n in range(3)]
    return a_cluster(nodes=nodes, pods=pods)


class Account:
    """Answers of an account, by name; it records the requests. Mutable."""

    def __init__(self, refuse: str = "") -> None:
        self.asked: list[MachineQuery] = []
        self._refuse = refuse
        self._whole = MachineFacts(
            {ident(n): Instance(ident(n), f"ami-{n}", options=ONE, scaling_group="asg") for n in range(3)},
            {"green": NodeGroup("green", "AL2023_x86_64_STANDARD"), "own": NodeGroup("own", "AL2023_x", template=OWN)},
            {"asg": ScalingGroup("asg", ASG)},
            {
                OWN: TemplateVersion("lt-own", "own", 7),
                ASG: TemplateVersion("lt-asg", "asg", 3, DeclaredMetadataOptions("required", 2)),
            },
            {"ami-0": Image("ami-0", v2=True), "ami-1": Image("ami-1", v2=True), "ami-2": Image("ami-2")},
            DeclaredMetadataOptions(),
            frozenset(),
        )

    def tell(self, keys: MachineQuery) -> MachineFacts:
        self.asked.append(keys)
        given: dict[str, Any] = {}
        for name in ("instances", "node_groups", "scaling_groups", "templates", "images"):
            held = getattr(self._whole, name)
            given[name] = {key: self._one(name, held.get(key, Absent("gone"))) for key in getattr(keys, name)}
        if keys.account:
            given |= {name: self._one(name, getattr(self._whole, name)) for name in ("account", "identities")}
        return MachineFacts(**given)

    def session(self, of: Cluster | None = None) -> Answered:
        return Answered(of or cluster(), self.tell, Nowhere())

    def _one(self, name: str, answer: object) -> object:
        return Unknown("IAM does not allow it", f"the:{name}") if name == self._refuse else answer


def test_each_is_asked_once_and_what_it_names_after_it() -> None:
    assert verdicts() == {
        "green": (ImdsReach.UNREACHABLE, ImdsReach.UNREACHABLE),
        "own": (ImdsReach.UNREACHABLE, ImdsReach.REACHABLE),
        "old": (ImdsReach.UNREACHABLE, ImdsReach.REACHABLE),
    }
    account = Account()
    read_metadata_facts(account.session(), cluster())
    assert [keys.account for keys in account.asked] == [True, False, False]
    assert account.asked[0].node_groups == ("green", "own") and len(account.asked[0].instances) == 3
    assert (account.asked[1].scaling_groups, account.asked[1].templates) == (("asg",), (OWN,))
    assert (account.asked[2].templates, account.asked[2].images) == ((ASG,), ("ami-0", "ami-1", "ami-2"))
    for field in fields(MachineQuery):
        if field.name != "account":
            names = [name for keys in account.asked for name in getattr(keys, field.name)]
            assert len(names) == len(set(names)), field.name


def verdicts(refuse: str = "") -> dict[str, tuple[ImdsReach, ImdsReach]]:
    plan = plan_imds_access(Account(refuse).session())
    return {
        group.node_set.name: (group.node_set.verdict_now.reach, group.node_set.verdict_next.reach)
        for group in plan.groups
    }


def test_a_node_whose_instance_is_not_known_is_not_asked_about_and_that_is_said() -> None:
    """Its next node has no service, so its pods may lose the role of the node."""
    of = cluster()
    lost = replace(of.nodes[0], provider_id="")
    account = Account()

    def answer(asked: Any, *_: Any) -> Any:
        return account.tell(asked) if isinstance(asked, MachineQuery) else dict.fromkeys(asked, RoleUses(NOW))

    session = Answered(replace(of, nodes=(lost, *of.nodes[1:])), answer, Nowhere())
    plan = plan_imds_access(session, evidence=(EvidenceSource.CLOUDTRAIL,))
    told = plan.facts.role_uses[EvidenceSource.CLOUDTRAIL]
    assert told == {"n0": Unknown("its instance is not known")}, "pods of the others do not reach the service now"
    messages = [each.message for each in plan.findings if each.code.name == "imds-evidence-unknown"]
    assert len(messages) == 1 and "its instance is not known" in messages[0]


UNKNOWN = ImdsReach.UNKNOWN
LOST = {
    "instances": {"green": (UNKNOWN, ImdsReach.UNREACHABLE), "own": (UNKNOWN, UNKNOWN), "old": (UNKNOWN, UNKNOWN)},
    "node_groups": {"green": (ImdsReach.UNREACHABLE, UNKNOWN), "own": (ImdsReach.UNREACHABLE, UNKNOWN)},
    "scaling_groups": {"old": (ImdsReach.UNREACHABLE, UNKNOWN)},
    "templates": {"own": (ImdsReach.UNREACHABLE, UNKNOWN), "old": (ImdsReach.UNREACHABLE, UNKNOWN)},
    "images": {"own": (ImdsReach.UNREACHABLE, UNKNOWN)},
    # a template that is silent about the endpoint leaves that to the account
    "account": {"own": (ImdsReach.UNREACHABLE, UNKNOWN), "old": (ImdsReach.UNREACHABLE, UNKNOWN)},
    "identities": {},
}


@pytest.mark.parametrize("refused", sorted(LOST))
def test_what_is_refused_is_unknown_and_leaves_the_rest(refused: str) -> None:
    assert verdicts(refused) == {**verdicts(), **LOST[refused]}
    findings = plan_imds_access(Account(refused).session()).findings
    assert f"the:{refused}" in {found.missing for found in findings}, "the missing action is named"


def test_what_is_asked_about_is_all_that_is_judged() -> None:
    assert [each.name for each in ProbeScope().restrict(cluster()).nodes] == ["n0", "n1", "n2"]
    kept = ProbeScope(nodes=("n0",), groups=("old",)).restrict(cluster())
    assert [each.name for each in kept.nodes] == ["n0", "n2"] and [each.name for each in kept.pods] == ["p0", "p2"]
    alone = ProbeScope(pod="p1").restrict(cluster())
    assert [each.name for each in alone.pods] == ["p1"] and [each.name for each in alone.nodes] == ["n1"]


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (ProbeScope(pod="p9"), "there is no pod 'p9' in namespace default"),
        (ProbeScope(pod="p1", namespace="shop"), "there is no pod 'p1' in namespace shop"),
        (ProbeScope(nodes=("n9",)), "there is no node 'n9'"),
        (ProbeScope(groups=("gren",)), "did you mean green?"),
    ],
)
def test_what_is_not_there_is_said(scope: ProbeScope, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        scope.restrict(cluster())
    assert said in str(caught.value)
    assert ("is in default" in caught.value.hint) is (scope.namespace == "shop")


ID = "i-0123456789abcdef0"
CUT = MachineFacts(instances={ID: Instance(ID, options=MetadataOptions("required", 1))})
DENIED = Unknown("no", "get pods")
LINE = "failed to introspect region from EC2Metadata"
LBC = "eks/aws-load-balancer-controller:v2.13.0"


class Pods:
    """Logs of two of three pods, current and previous ones. Records the requests."""

    has_logs = True

    def __init__(self) -> None:
        self.asked: list[LogKey] = []
        self.looked: list[str] = []

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        self.looked += pods
        crashing = Container("app", LBC, ("--x",), runs=ContainerRunState.WAITING, ended_before=True)
        known = {"shop/a": (crashing,), "shop/b": (Container("app", runs=ContainerRunState.WAITING),)}
        return {pod: known.get(pod, DENIED) for pod in pods}

    def logs(self, asked: Collection[LogKey]) -> Mapping[LogKey, str | Absent | Unknown]:
        self.asked += asked
        return dict.fromkeys(asked, f"{LINE}\n")


def pod(name: str, image: str = "shop/cart:1", ready: bool = False) -> Pod:
    return a_pod(name, namespace="shop", node="n", ready=ready, owner=None, calls=Calls(images=(image,)))


def test_each_pod_has_what_was_found_of_it() -> None:
    node = a_node("n", provider_id=f"aws:///eu-west-1a/{ID}")
    given = [pod("a", LBC), pod("b"), pod("c"), pod("d", ready=True)]
    pods = Pods()
    facts = add_pod_evidence(MetadataFacts(a_cluster(nodes=[node], pods=given), CUT), 2, pods)
    assert pods.looked == ["shop/a", "shop/b", "shop/c", "shop/d"], "each once, and last what runs well"
    assert pods.asked == [LogKey("shop", "a", "app", previous=True)]
    found = facts.evidence_by_pod["shop/a"]
    assert found.symptom is not None and found.symptom.line == LINE and found.command == ContainerCommand(("--x",))
    assert facts.evidence_by_pod["shop/b"].symptom is None and facts.evidence_by_pod["shop/c"].unreadable == (DENIED,)
    assert facts.pods_not_read == 0
    plan = plan_metadata(facts, 2)
    assert "shop/c" in str(plan.findings) and "shop/d" not in str([each.message for each in plan.findings])
    (group,) = plan.groups
    assert [each.pod.name for each in group.with_effect(Effect.BROKEN)] == ["a"]
