"""The command that cordons all targets: of exactly these nodes, on the cluster that was planned for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.outcome import Eviction, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.render.drain.report import DrainReport
from kubectl_eksdoc.render.drain.result import PlanResult
from kubectl_eksdoc.render.drain.steps import BALANCERS, fence, not_drained, steps
from kubectl_eksdoc.render.text import Look
from tests.builders import a_node
from tests.reading import printed
from tests.render.plans import CLUSTER, WEB, a_target, a_view, an_empty_plan

render = DrainReport.render

GROUP = "eks.amazonaws.com/nodegroup"
BLUE = tuple(a_node(name, group="blue", labels={"zone": zone}) for name, zone in (("a", "1"), ("b", "1"), ("c", "2")))
RED = tuple(a_node(name, group="red", labels={"zone": "1"}) for name in ("x", "y"))
LIVE = replace(CLUSTER, source=Source.LIVE, nodes=(*BLUE, *RED))


def document(view: DrainReport) -> Any:
    return printed(PlanResult.of(view))


def planned(names: str, options: dict[str, object], reached_by: tuple[str, ...] | None = (), **more: object) -> str:
    """The command for these targets."""
    chosen = [node for node in LIVE.nodes if node.name in names.split()]
    step = fence(a_view(a_plan(*chosen, **more), LIVE, options=options, reached_by=reached_by))  # type: ignore[arg-type]
    assert step is not None
    return step.command


def a_plan(*nodes: object, policy: DrainPolicy | None = None) -> DrainPlan:
    targets = tuple(
        replace(a_target("old-0", TargetVerdict.DRAINS, n), node=node)  # type: ignore[arg-type]
        for n, node in enumerate(nodes, 1)
    )
    evictions = (Eviction(1, 1, WEB[0], "a", "", ""),)
    return an_empty_plan(targets=targets, evictions=evictions, policy=policy or DrainPolicy())


@pytest.mark.parametrize(
    ("targets", "options", "words"),
    [
        ("a b c", {"nodegroup": ["blue"]}, f"-l {GROUP}=blue"),
        ("a b c x y", {"nodegroup": ["blue", "red"]}, f"-l '{GROUP} in (blue,red)'"),
        ("a b x y", {"selector": "zone=1"}, "-l zone=1"),
        ("a b", {"selector": "zone=1", "nodegroup": ["blue"]}, f"-l zone=1,{GROUP}=blue"),
        ("a b c", {"nodes": ["a", "b", "c"]}, "a b c"),
        ("a b", {"nodegroup": ["blue"]}, "a b"),
        ("a b c", {"nodegroup": ["blue"], "older-than": "v1.33"}, "a b c"),
    ],
    ids=["group", "groups", "selector", "both", "names", "a label that selects more", "older ones alone"],
)
def test_nodes_are_cordoned_as_they_were_chosen(targets: str, options: dict[str, object], words: str) -> None:
    assert planned(targets, options) == f"kubectl cordon {words}"


def test_new_nodes_with_the_labels_of_the_old_ones_are_not_cordoned() -> None:
    policy = DrainPolicy(surge=1)
    assert planned("a b c", {"nodegroup": ["blue"], "surge": "1"}, policy=policy) == "kubectl cordon a b c"


def test_it_meets_the_same_cluster() -> None:
    live = ("--context", "prod eu", "--kubeconfig", "k")
    assert planned("a b", {}, live) == "kubectl cordon a b --context 'prod eu' --kubeconfig k"
    assert planned("a b", {}, None) == "kubectl cordon a b --context prod-eu"
    dump = a_view(a_plan(*BLUE), replace(LIVE, source=Source.SNAPSHOT), options={}, reached_by=("--snapshot", "d"))
    step = fence(dump)
    assert step is not None and step.command == "kubectl cordon a b c --context prod-eu"


def test_a_dump_that_does_not_tell_its_context_does_not_meet_the_current_one() -> None:
    unknown = replace(LIVE, source=Source.SNAPSHOT, identity=replace(LIVE.identity, context=""))
    found = steps(a_view(a_plan(*BLUE), unknown, options={}, reached_by=("--snapshot", "d")))
    assert "kubectl cordon a b c --context CONTEXT" in [step.command for step in found]
    assert found[-1].text == "CONTEXT stands for the cluster's context"


def test_many_names_are_piped() -> None:
    nodes = tuple(a_node(f"n-{n}", group="") for n in range(101))
    view = a_view(a_plan(*nodes), replace(LIVE, nodes=nodes), options={"older-than": "v1.33"}, reached_by=())
    step = fence(view)
    assert step is not None
    assert step.command == "kubectl eksdoc drain plan --older-than v1.33 -o name | xargs kubectl cordon"
    assert step.text == "drain run cordons all 101 targets before the first eviction; to do it by hand"


def with_verdicts(*verdicts: TargetVerdict) -> DrainReport:
    plan = a_plan(*BLUE[: len(verdicts)])
    targets = tuple(
        replace(target, verdict=verdict, order=n if verdict is TargetVerdict.DRAINS else 0)
        for n, (target, verdict) in enumerate(zip(plan.targets, verdicts, strict=True), 1)
    )
    return a_view(replace(plan, targets=targets), LIVE, options={}, reached_by=())


def test_skipped_ones_are_cordoned_and_refused_ones_are_left_alone() -> None:
    drains, left, refused = TargetVerdict.DRAINS, TargetVerdict.SKIPPED, TargetVerdict.REFUSED
    step = fence(with_verdicts(drains, left, refused))
    assert step is not None and step.command == "kubectl cordon a b"
    first = "targets, skipped ones too, before the first eviction"
    assert step.text == f"drain run cordons both {first}; to do it by hand"
    left_open = replace(with_verdicts(drains, left).plan, policy=DrainPolicy(cordon_skipped=False))
    step_of_open = fence(a_view(left_open, LIVE, options={}, reached_by=()))
    assert step_of_open is not None and step_of_open.command == "kubectl cordon a", "as drain run does"
    assert step_of_open.text == (
        "drain run cordons what it drains, not 1 skipped target (--no-cordon-skipped), before the first eviction; "
        "to do it by hand"
    )
    assert step in steps(with_verdicts(drains, left, refused))


def test_one_node_alone_needs_no_fence() -> None:
    assert fence(with_verdicts(TargetVerdict.DRAINS)) is None
    assert fence(with_verdicts(TargetVerdict.DRAINS, TargetVerdict.REFUSED)) is None


def test_the_document_says_what_no_re_eviction_rests_on() -> None:
    view = with_verdicts(TargetVerdict.DRAINS, TargetVerdict.DRAINS)
    assert document(view)["reEvictions"] == {
        "count": 0,
        "because": "all targets are cordoned before the first eviction",
    }
    assert document(a_view(an_empty_plan()))["reEvictions"] is None


def test_skipped_targets_are_named_with_what_becomes_of_them() -> None:
    plan = with_verdicts(TargetVerdict.DRAINS, TargetVerdict.SKIPPED).plan
    only = replace(plan, targets=tuple(replace(t, cordon_only=not t.order, why=("x",)) for t in plan.targets))
    view = a_view(only, LIVE, options={}, reached_by=())
    assert "  b  ✗ skipped: x\n" in render(view, "table", Look())
    assert BALANCERS in " ".join(render(view, "wide", Look()).split())
    assert not_drained(view) == "; drain run cordons them too"
    left_open = a_view(replace(plan, policy=DrainPolicy(cordon_skipped=False)), LIVE, options={}, reached_by=())
    cost = ", not cordoned: evicted pods can go there"
    assert not_drained(left_open) == cost
    assert f"TARGETS that are not drained (1){cost}\n" in render(left_open, "table", Look(width=80))
    fields = document(left_open)
    assert "--no-cordon-skipped" in fields["reEvictions"]["because"]  # type: ignore[index,call-overload,operator]
    assert fields["options"]["cordonSkipped"] is False  # type: ignore[index,call-overload]
