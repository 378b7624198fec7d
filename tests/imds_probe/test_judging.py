"""The remedies of each finding: now and later, for the running nodes and for new ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.amazon.metadata_service import ImdsReach
from kubectl_eksdoc.imds_probe.affected import AssumedOptions, IntendedOptions, PodEvidence
from kubectl_eksdoc.imds_probe.plan import plan_metadata, pod_access
from kubectl_eksdoc.imds_probe.programs import ContainerCommand
from kubectl_eksdoc.imds_probe.report.access import summary
from kubectl_eksdoc.model.findings import Finding, Status, When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions, Instance
from kubectl_eksdoc.model.nodes import Calls, Pod, RoleSource
from tests.builders import a_pod, ago
from tests.imds_probe.fixes.nodes_of_all_kinds import OFF, OPTIONAL, TWO, Cloud, cloud, ident

AUTOSCALER = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0"


def breaking(*kinds: str, hops: int = 2, **more: Any) -> tuple[Finding, ...]:
    """Findings of one pod on each node, which will break there."""
    of = cloud(*kinds, **more)
    calls = Calls(images=(AUTOSCALER,))
    of.pods = [a_pod(f"p{at}", node=node.name, calls=calls) for at, node in enumerate(of.nodes)]
    of.inside = {pod.key: PodEvidence(ContainerCommand(("--cloud-provider=aws",))) for pod in of.pods}
    return tuple(each for each in plan_metadata(of.facts(), hops).findings if each.code.name == "imds-pods-will-break")


def test_tonight_the_running_instances_and_tomorrow_the_program() -> None:
    (found,) = breaking("managed")
    later, now = found.remedy
    assert (now.when, later.when) == (When.NOW, When.LATER)
    assert now.command == "kubectl eksdoc imds-probe --nodegroup blue --apply --fix instance-options"
    (found,) = breaking("self-managed", hops=3)
    assert found.remedy[1].command == "kubectl eksdoc imds-probe node/n0 --hops 3 --apply --fix instance-options"


def test_where_nobody_can_or_need_change_the_instances_that_is_not_said() -> None:
    for kind, more in (("auto", {}), ("fargate", {}), ("own template", {"options": TWO})):
        (found,) = breaking(kind, **more)
        assert [each.when for each in found.remedy] == [When.LATER], kind


def unknown(of: Cloud) -> dict[str, str]:
    """The command of the remedy, by the time for which the fact is unknown."""
    found = [each for each in plan_metadata(of.facts(), 2).findings if each.code.name == "imds-nodes-unknown"]
    return {each.missing: each.remedy[0].command for each in found}


def test_the_next_node_is_not_measured_on_one_that_runs() -> None:
    of = cloud("managed", options=TWO)
    of.groups["blue"] = Unknown("the answer is not what it should be")
    assert unknown(of) == {"the metadata options on the next node": ""}
    of.instances[ident(0)] = Unknown("the answer is not what it should be")
    assert unknown(of)["the metadata options now"] == "kubectl eksdoc imds-probe node/n0 --active"


@pytest.mark.parametrize("state", ["shutting-down", "terminated"])
def test_of_an_instance_that_is_gone_nothing_is_said(state: str) -> None:
    of = cloud("managed", options=TWO)
    of.instances[ident(0)] = Instance(ident(0), state=state, options=TWO)
    (group,) = plan_metadata(of.facts(), 2).groups
    assert group.node_set.verdict_now.reach is ImdsReach.UNKNOWN and state in group.node_set.verdict_now.why


def test_the_first_line() -> None:
    """A pod that never had access is not counted among those that lost it, and a hop limit of 1 is what AWS
    recommends."""
    said = summary(plan_metadata(cloud("managed", "fargate").facts(), 2))
    assert said.startswith("Pods on 1 of 2 nodes cannot reach the instance metadata service, 1 has none;")
    assert "a hop limit of 1 is what AWS recommends" in said
    none = summary(
        plan_metadata(cloud("own template", options=TWO, said=DeclaredMetadataOptions("required", 2)).facts(), 2)
    )
    assert none.startswith("Pods on 0 of 1 node cannot reach the instance metadata service")
    assert "recommends" not in summary(plan_metadata(cloud("managed", options=OFF).facts(), 2))


LATELY, LONG_AGO = ago(60), ago(3600)


def said_of(pod: Pod, kind: str = "managed", *beside: Pod, **more: Any) -> list[object]:
    """The remedies on a node of that kind, of an image and a role that give no facts."""
    of = cloud(kind, **more)
    pod = replace(pod, node=of.nodes[0].name, calls=replace(pod.calls, images=("own/app:1",), role=RoleSource.IRSA))
    of.pods, of.inside = [pod, *beside], {pod.key: PodEvidence(ContainerCommand())}
    return [
        (each.code.name, each.status) for each in plan_metadata(of.facts(), 2).findings if each.subject.name == pod.name
    ]


UNKNOWN = [("imds-pods-unread", Status.UNKNOWN)]


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (a_pod(ready=False), UNKNOWN),
        (a_pod(phase="Pending"), UNKNOWN),
        (a_pod(restarted=True, ready_at=LATELY), UNKNOWN),
        (a_pod(restarted=True, ready_at=None), UNKNOWN),
        (a_pod(phase="Failed", owner="Job/import"), UNKNOWN),
        (a_pod(), []),
        (a_pod(restarted=True, ready_at=LONG_AGO), []),
        (a_pod(phase="Succeeded", owner="Job/import"), []),
        (a_pod(phase="Failed"), []),
    ],
)
def test_a_pod_that_fails_where_it_is_cut_off_is_never_passed(pod: Pod, said: list[object]) -> None:
    assert said_of(pod) == said
    assert said_of(pod, options=OPTIONAL) == said, "what asks with a token gets none"
    assert said_of(pod, "fargate") == said, "it never had a service"
    assert said_of(pod, options=TWO) == []
    done = a_pod("b", phase="Succeeded", owner="Job/import")
    assert said_of(pod, "managed", done) == ([] if pod.phase == "Failed" else said), "its Job went well after all"
    on_host = replace(pod, calls=Calls(host_network=True))
    assert said_of(on_host, options=OFF) == said and said_of(on_host) == []


@pytest.mark.parametrize("node", ["gone", ""])
def test_a_pod_on_no_node_that_was_read_is_unknown(node: str) -> None:
    of = cloud()
    of.pods = [a_pod(node=node, phase="Pending")]
    found = [each for each in plan_metadata(of.facts(), 2).findings if each.subject.kind == "Pod"]
    assert [(each.code.name, each.status) for each in found] == UNKNOWN


def test_the_sentence_about_a_pod_that_fails_does_not_say_that_its_role_is_enough() -> None:
    of = cloud("managed")
    pod = a_pod(node=of.nodes[0].name, ready=False, calls=Calls(role=RoleSource.IRSA))
    of.pods, of.inside = [pod], {pod.key: PodEvidence(ContainerCommand())}
    sentence = pod_access(plan_metadata(of.facts(), 2), pod).sentence
    assert "whether for that reason is not known" in sentence and "role" not in sentence


def test_groups_of_which_nothing_is_known_for_one_reason_are_one_finding() -> None:
    """For example, from a snapshot that holds no answers of AWS."""
    nothing = Unknown("the snapshot holds no answers of AWS")
    world = cloud("managed", "self-managed")
    world.instances = {ident(at): nothing for at in range(2)}
    found = [each for each in plan_metadata(world.facts(), 2).findings if nothing.why in each.message]
    (now,) = (each for each in found if each.missing == "the metadata options now")
    assert now.subject.kind == "Cluster" and now.evidence == ("blue (1)", "n1")


def test_what_was_assumed_already_is_not_advised_again() -> None:
    """The finding on nodes that miss the intended options proposes no command with an assumption that is already
    made."""
    facts = replace(cloud("managed", options=TWO).facts(), intent=IntendedOptions(1))
    for assumed, command in ((None, "imds-probe --nodegroup blue --assume hops=1"), (AssumedOptions(1), "")):
        plan = plan_metadata(replace(facts, assumed=assumed), 2)
        (missed,) = (each for each in plan.findings if each.code.name == "imds-intent-missed")
        assert missed.remedy[0].command.endswith(command) and bool(missed.remedy[0].command) is bool(command)
