"""The end of the plan's text repeats the verdict and lists command lines that a user can run unchanged."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.outcome import Eviction, NotEvictedPod, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.findings import evidence_lines, grouped
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.report.handoffs import summary_lines
from kubectl_eksdoc.drain.report.plan import dump_folder, plan_command
from kubectl_eksdoc.drain.report.result import PlanResult
from kubectl_eksdoc.drain.report.verdict import LOAD_BALANCER_NOTE, headline, next_steps
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Code, Remedy, Severity, Status, Subject
from kubectl_eksdoc.report.text import Appearance
from tests.drain.report.plans import (
    CLUSTER,
    SALE,
    SHELL,
    WEB,
    a_finding,
    a_target,
    a_view,
    an_empty_plan,
)
from tests.drain.report.test_recorded import READERS, view_of
from tests.examples import one_in
from tests.yaml_reader import printed

render = DrainReport.render

LIVE = replace(CLUSTER, source=Source.LIVE)


def given_as(options: dict[str, object], **more: object) -> DrainReport:
    return a_view(an_empty_plan(), LIVE, options=options, **more)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nodes": ["old-1", "old-2"]}, "old-1 old-2"),
        ({"nodegroup": ["blue", "red"]}, "--nodegroup blue --nodegroup red"),
        ({"selector": "a in (b,c),d!=e"}, "-l 'a in (b,c),d!=e'"),
        ({"older-than": "v1.33", "max-unavailable": "30%"}, "--older-than v1.33 --max-unavailable 30%"),
        ({"nodes": ["a"], "force": True, "partial": False, "max-evictions-per-second": 0.5},
         "a --force --max-evictions-per-second 0.5"),
        ({"nodes": ["a"], "ignore-daemonsets": False, "grace-period": 60},
         "a --ignore-daemonsets=false --grace-period 60"),
        ({"nodes": ["a"], "ignore-daemonsets": True, "grace-period": -1, "skip-wait-for-delete-timeout": 0,
          "accept-unknown": []}, "a"),
        ({"nodes": ["a"], "accept-unknown": ["y", "x"]}, "a --accept-unknown x,y"),
        ({"nodes": ["a"], "pod-selector": "--x"}, "a --pod-selector=--x"),
    ],
)  # fmt: skip
def test_the_command_line_is_made_of_the_options_as_given(options: dict[str, object], words: str) -> None:
    assert (
        plan_command(given_as(options), "-o", "name") == f"kubectl eksdoc drain plan {words} --context prod-eu -o name"
    )


def test_accepted_codes_are_added_to_those_given() -> None:
    line = plan_command(given_as({"nodes": ["a"], "accept-unknown": ["z"]}), accept=["b"])
    assert line == "kubectl eksdoc drain plan a --accept-unknown b,z --context prod-eu"


def test_the_source_is_the_same_one() -> None:
    nameless = replace(LIVE, identity=replace(LIVE.identity, context=""))
    assert plan_command(a_view(cluster=nameless, options={})) == "kubectl eksdoc drain plan"
    assert plan_command(a_view(cluster=replace(LIVE, source=Source.DEMO), options={})).endswith(" --demo")
    assert plan_command(a_view(options={})).endswith(" --snapshot DUMP")
    assert plan_command(a_view(options={}, connection_args=("--snapshot", "my dump/"))).endswith(
        " --snapshot 'my dump/'"
    )


@pytest.mark.parametrize(
    ("given_words", "folder"),
    [((), "DUMP"), (("--snapshot", "a.tar.gz"), "DUMP"), (("--snapshot", "my dump/"), "'my dump'"), (None, "DUMP")],
)
def test_the_folder_of_the_dump(given_words: tuple[str, ...] | None, folder: str) -> None:
    assert dump_folder(a_view(connection_args=given_words)) == folder


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.lists(st.text(min_size=1), max_size=3))
def test_a_shell_reads_back_what_was_given(selector: str, nodes: list[str]) -> None:
    words = shlex.split(plan_command(given_as({"nodes": nodes, "selector": selector})))
    assert words[4 : 4 + len(nodes)] == nodes
    assert selector in words or f"--selector={selector}" in words


def the_answer(*verdicts: TargetVerdict, plan: DrainPlan | None = None) -> str:
    names = ("old-0", "old-1", "old-2", "old-3")
    targets = tuple(a_target(n, v, int(v is TargetVerdict.DRAINS)) for n, v in zip(names, verdicts, strict=False))
    return headline(a_view(replace(plan or an_empty_plan(), targets=targets)), Appearance())


def test_the_answer() -> None:
    drains, skipped, unknown = TargetVerdict.DRAINS, TargetVerdict.SKIPPED, TargetVerdict.UNKNOWN
    assert the_answer() == "No node to drain."
    assert the_answer(drains) == "The node can be drained."
    assert the_answer(TargetVerdict.REFUSED) == "The node is refused."
    assert the_answer(drains, drains) == "All 2 nodes can be drained."
    assert the_answer(unknown, unknown) == "None of 2 nodes could be judged."
    assert the_answer(skipped, skipped) == "None of 2 nodes can be drained: all skipped."
    blocked = an_empty_plan(findings=(a_finding(),), estimate=Estimate(126, 464, (), 1, ()))
    assert (
        the_answer(drains, skipped, skipped, unknown, plan=blocked)
        == "1 of 4 nodes can be drained, about 2m06s; skipped: old-1, old-2; not judged: old-3 (1 blocker above)."
    )


def commands(view: DrainReport) -> dict[str, str]:
    return {step.command.rpartition(" ")[2]: step.text for step in next_steps(view)}


def blocked_by(*found: tuple[str, PodVerdict, tuple[str, ...]], flags: dict[str, object] | None = None) -> DrainReport:
    """A plan where old-3 has pods with these verdicts and codes."""
    table = {
        "pod-emptydir": Code.of("pod-emptydir"),
        "pod-unmanaged": Code.of("pod-unmanaged"),
        "pod-returns": Code.of("pod-returns"),
    }
    pods = {"web": WEB[0], "sale": SALE[0], "shell": SHELL}
    left = tuple(NotEvictedPod(pods[name], "old-3", verdict, why, "") for name, verdict, why in found)
    findings = tuple(a_finding(table[code], Status.FAIL, pods[name]) for name, _, why in found for code in why)
    plan = an_empty_plan(targets=(a_target("old-3", TargetVerdict.SKIPPED),), left=left, findings=findings)
    return a_view(plan, LIVE, options={"nodes": ["old-3"]} | (flags or {}))


def test_a_flag_is_offered_for_what_it_decides_and_says_whether_it_is_enough() -> None:
    blocked = PodVerdict.BLOCKED
    one = commands(blocked_by(("shell", blocked, ("pod-unmanaged",))))
    assert "nothing else blocks old-3" in one["--force"] and "--delete-emptydir-data" not in one
    both = commands(blocked_by(("shell", blocked, ("pod-unmanaged",)), ("web", blocked, ("pod-emptydir",))))
    assert (
        "alone that frees no node" in both["--force"] and "alone that frees no node" in both["--delete-emptydir-data"]
    )
    given_already = commands(blocked_by(("shell", blocked, ("pod-unmanaged",)), flags={"force": True}))
    assert "Evict" not in "".join(given_already.values())


def test_a_plan_of_a_live_cluster_says_how_it_is_done() -> None:
    asked = {"nodes": ["old-1"], "force": True, "baseline": "monday.json"}
    drained = an_empty_plan(targets=(a_target("old-1", order=1),))
    (done,) = [
        step.command for step in next_steps(a_view(drained, LIVE, options=asked)) if step.text.startswith("Do it")
    ]
    assert done == "kubectl eksdoc drain run old-1 --force --context prod-eu"
    supposed = replace(drained, policy=replace(drained.policy, assume_fixed=frozenset(("pod-emptydir",))))
    nothing = an_empty_plan(targets=(a_target("old-1", TargetVerdict.SKIPPED),))
    for view in (a_view(supposed, LIVE), a_view(nothing, LIVE), a_view(drained)):
        assert not any(step.text.startswith("Do it") for step in next_steps(view))


def test_partial_is_offered_where_more_pods_would_go() -> None:
    blocked = ("sale", PodVerdict.BLOCKED, ("pod-returns",))
    assert "--partial" not in commands(blocked_by(blocked))
    assert "1 more pod goes" in commands(blocked_by(blocked, ("web", PodVerdict.HELD, ())))["--partial"]


@pytest.mark.parametrize("name", one_in(4, list(READERS)))
@pytest.mark.parametrize("width", [80, 120])
def test_the_last_screen_has_the_answer(name: str, width: int) -> None:
    view = view_of(name)
    last = render(view, "wide", Appearance(width=width)).splitlines()[-24:]
    assert "NEXT (nothing was changed)" in last
    text = " ".join(line.strip() for line in last)
    assert headline(view, Appearance()) in text
    assert all(f"        {step.command}" in last for step in next_steps(view) if step.command)


def test_long_evidence_is_counted_with_what_the_finding_left_out() -> None:
    seen = tuple(f"guards shop/web-{n} on old-{n}" for n in range(11))
    budget = Subject("PodDisruptionBudget", "web", "shop")
    found = a_finding(Code.of("budget-never-allows"), Status.FAIL, budget, "never",
                      Severity.HIGH, evidence=(*seen, "and 21 more"))  # fmt: skip
    assert "    - … and 21 more\n" in render(a_view(an_empty_plan(findings=(found,))), "wide", Appearance())


def test_each_unknown_has_its_own_steps_and_they_write_into_the_dump() -> None:
    def lacks(code: Code, *kinds: str) -> object:
        add = (Remedy(f"Add {k} to the dump.", f"kubectl get {k} -A -o json > {k}.json") for k in kinds)
        return a_finding(code, Status.UNKNOWN, Subject("Cluster", "cluster"), "cannot tell", Severity.MEDIUM, *add)

    view = a_view(
        an_empty_plan(
            findings=(lacks(Code.of("pod-returns"), "leases", "jobs"), lacks(Code.of("only-backend"), "services"))
        ),
        connection_args=("--snapshot", "tonight/dump"),
    )
    text = render(view, "wide", Appearance())
    first, second = text.index("? only-backend"), text.index("? pod-returns")
    services = text.index("kubectl get services -A -o json > tonight/dump/services.json")
    assert first < services < second < text.index("kubectl get leases -A -o json > tonight/dump/leases.json")
    assert "Add it to the dump, then plan again." in text and "Add them to the dump, then plan again." in text


def test_many_groups_of_nodes_are_one_line_each() -> None:
    view = a_view()
    many = tuple(replace(view.handoffs[0], group=f"blue-{n}") for n in range(40))
    lines = summary_lines(many, Appearance())
    assert len(lines) == 12 and lines[-1] == "  … and 29 more groups of nodes"


def test_evidence_names_each_pod_once() -> None:
    """The evidence has the words that the planner really uses."""
    view = view_of("demo")
    group = next(g for g in grouped(view.blockers, view) if g.first.code is Code.of("budget-unhealthy"))
    lines, more = evidence_lines(group)
    assert [line.split(" on ")[1] for line in lines] == ["blue-8: CrashLoopBackOff", "blue-6: CrashLoopBackOff"]
    assert more == 0 and len(group.first.evidence) == 4
    for other in grouped(view.findings, view):
        assert not any(line.startswith(("guards", "pod ")) for line in evidence_lines(other)[0])


@pytest.mark.parametrize(
    ("policy", "cordon_only", "said"),
    [
        (DrainPolicy(), True, "; drain run cordons them too"),
        (DrainPolicy(cordon_skipped=False), False, ", not cordoned: evicted pods can go there"),
    ],
)
def test_skipped_targets_are_named_with_what_becomes_of_them(policy: DrainPolicy, cordon_only: bool, said: str) -> None:
    skipped = replace(a_target("old-1", TargetVerdict.SKIPPED), cordon_only=cordon_only, why=("x",))
    evictions = (Eviction(1, 1, WEB[0], "a", "", ""),)
    plan = an_empty_plan(targets=(a_target("old-0", order=1), skipped), evictions=evictions, policy=policy)
    view = a_view(plan, LIVE, options={}, connection_args=())
    assert f"TARGETS that are not drained (1){said}\n  old-1  ✗ skipped: x\n" in render(
        view, "table", Appearance(width=80)
    )
    assert (LOAD_BALANCER_NOTE in " ".join(render(view, "wide", Appearance()).split())) is cordon_only
    document = printed(PlanResult.of(view))
    assert document["options"]["cordonSkipped"] is cordon_only and document["reEvictions"]["count"] == 0
    assert ("--no-cordon-skipped" in document["reEvictions"]["because"]) is not cordon_only
