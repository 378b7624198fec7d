"""The data that drains of the checklist delete, and who has to agree first; a gate comes after the steps on which it
waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.check.checking import CheckFacts
from kubectl_eksdoc.check.node_steps import build_checklist
from kubectl_eksdoc.check.steps import Phase
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import CheckNeed, Unknown
from tests.builders import a_node, a_pod
from tests.check.healthy import a_healthy_cluster, healthy
from tests.check.test_checklist import AL2023, NEW, the_step, titles, with_addon, with_nodes


def losing(*found: tuple[str, Subject], **of: Any) -> CheckFacts:
    """A cluster with pods `a-0` on node `a` of group blue and `b-0` on node `b` of group green."""
    nodes = [
        a_node(name, group=group, version=NEW, os_image="Amazon Linux 2")
        for name, group in (("a", "blue"), ("b", "green"))
    ]
    facts = with_nodes(*nodes, pods=[a_pod("a-0", node="a"), a_pod("b-0", node="b")], **of)
    command = "kubectl get pod b-0 -n default -o yaml > b-0.yaml"
    lost = tuple(
        Finding(Code.of(code), Severity.MEDIUM, Status.PASS, subject, "gone", remedy=(Remedy("Save it.", command),))  # type: ignore[arg-type]
        for code, subject in found
    )
    return replace(facts, command_findings={**facts.command_findings, CheckNeed.PLAN_DRAIN: lost})


DATA, ALONE = (
    ("pod-emptydir", Subject("StatefulSet", "a", "default")),
    ("pod-unmanaged", Subject("Pod", "b-0", "default")),
)


@pytest.mark.parametrize(
    ("found", "blue", "green"),
    [
        ((), "", ""),
        ((DATA,), " --delete-emptydir-data", ""),
        ((DATA, ALONE), " --delete-emptydir-data", " --force"),
    ],
)
def test_a_drain_that_is_proposed_has_the_flags_with_which_it_was_judged_and_says_what_they_delete(
    found: Any, blue: str, green: str
) -> None:
    steps = build_checklist(losing(*found))
    lines = [each for step in steps for each in step.commands]
    for group, flags in (("blue", blue), ("green", green)):
        drains = [line for line in lines if " drain " in line and line.split()[5] == group]
        assert drains == [f"kubectl eksdoc drain {verb} --nodegroup {group}{flags}" for verb in ("plan", "run")]
    (rehearsed,) = (line for line in lines if " rehearse " in line)
    assert rehearsed == f"kubectl eksdoc rehearse --older-than v1.34{blue}{green}"
    asked = [each for each in steps if each.title.startswith("Ask the owners")]
    assert len(asked) == bool(found)
    for each in asked:
        assert each.phase is Phase.NODES and "the emptyDir data of StatefulSet default/a" in each.why
        assert ("Pod default/b-0, which nothing creates again" in each.why) is (ALONE in found)
        assert ("kubectl get pod b-0 -n default -o yaml > b-0.yaml" in each.commands) is (ALONE in found)
    whys = {step.title[:29]: step.why for step in steps}
    assert ("deletes for good: the emptyDir data" in whys["Make a new group beside blue "]) is bool(found)
    assert ("deletes for good: Pod default/b-0" in whys["Make a new group beside green"]) is (ALONE in found)


def test_where_the_drain_is_not_known_nothing_is_deleted_by_what_is_proposed() -> None:
    facts = losing(DATA)
    unknown = replace(
        facts, command_findings={**facts.command_findings, CheckNeed.PLAN_DRAIN: Unknown("pods are forbidden")}
    )
    lines = [each for step in build_checklist(unknown) for each in step.commands]
    assert [line for line in lines if " drain run " in line]
    assert not [line for line in lines if "--delete-emptydir-data" in line or "--force" in line]


def test_what_fixes_a_finding_comes_before_the_gate_that_counts_it() -> None:
    old = a_node("a", version="v1.30.0-eks-1", os_image=AL2023)
    facts = with_addon("1.34", "coredns", "v1", ("v2", "1.33 1.34"), ("v1", "1.33*"))
    found = titles(replace(facts, cluster=a_healthy_cluster(nodes=[old])), Phase.BEFORE_CONTROL_PLANE)
    assert found == [
        "Update add-on coredns to v2",
        "Check that nothing blocks the replacement of nodes",
        "Update group blue in place to 1.33",
        "Check that nothing blocks 1.34",
    ]


def test_the_first_gate_is_of_the_whole_way_as_its_count_is() -> None:
    assert the_step(healthy("1.36"), "Check that nothing blocks 1.34").commands == (
        "kubectl eksdoc check --target 1.36 --gate before-control-plane",
    )
