"""Times, lists, wrapped text, the grouping of findings, and the line that names the cluster."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.outcome import Eviction, NotEvictedPod, PodVerdict
from kubectl_eksdoc.drain.report.findings import grouped
from kubectl_eksdoc.drain.report.verdict import plan_summary
from kubectl_eksdoc.model.cluster import UNKNOWN_TIME, Identity, Source
from kubectl_eksdoc.model.findings import Code, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.identity import identity_line
from kubectl_eksdoc.report.text import (
    Appearance,
    clean,
    format_age,
    join_sentences,
    join_words,
    list_names,
    pluralize,
    rfc3339,
    truncate,
    wrap,
)
from tests.builders import NOW, a_cluster, a_pod, a_workload
from tests.drain.report.plans import a_finding, a_view, an_empty_plan


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (172799, "47h"), (172800, "2d")],
)
def test_age(seconds: int, said: str) -> None:
    assert format_age(timedelta(seconds=seconds)) == said


@pytest.mark.parametrize(("seconds", "said"), [(0, "0s"), (287, "4m47s"), (7500, "2h05m00s"), (59.6, "1m00s")])
def test_duration(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said


def test_moments_are_utc_in_whole_seconds() -> None:
    seoul = timezone(timedelta(hours=9))
    assert rfc3339(datetime(2026, 11, 20, 17, 51, 0, 999999, seoul)) == "2026-11-20T08:51:00Z"
    assert rfc3339(datetime(2026, 11, 20, 8, 51)) == "2026-11-20T08:51:00Z"  # noqa: DTZ001


@given(st.text(), st.integers(5, 60))
def test_wrapped_text_loses_nothing_and_fits(text: str, room: int) -> None:
    said = clean(text)
    lines = wrap(said, room)
    assert all(len(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == said.replace(" ", "")


@given(st.text(max_size=40), st.integers(0, 40), st.booleans(), st.booleans())
def test_cut_text_fits(text: str, room: int, middle: bool, ascii_only: bool) -> None:
    look = Appearance(ascii=ascii_only)
    assert len(truncate(text, room, look, middle)) <= max(room, 0)
    assert len(text) > room or truncate(text, room, look, middle) == text


def test_cut_in_the_middle_shows_both_ends() -> None:
    assert truncate("ip-10-0-30-244.internal", 11, Appearance(), in_middle=True) == "ip-10…ernal"


def test_lists_of_names() -> None:
    assert list_names("abc", 2, Appearance()) == "a, b, c"
    assert list_names("abcd", 2, Appearance()) == "a, b … and 2 more"
    assert join_words(["a"]) == "a" and join_words(["a", "b", "c"]) == "a, b and c" and join_words([]) == ""
    assert pluralize(1, "node") == "1 node" and pluralize(0, "node") == "0 nodes"


def identified(source: Source, **more: str) -> str:
    who = Identity("prod-eu", "shop", "111122223333", "eu-central-1")
    cluster = replace(a_cluster(), identity=replace(who, **more), source=source)
    return identity_line(cluster, NOW + timedelta(hours=3))


def test_identity() -> None:
    who = "context prod-eu · cluster shop · account 111122223333 · region eu-central-1 · "
    assert identified(Source.LIVE) == who + "live, read 3h ago"
    assert identified(Source.SNAPSHOT) == who + "snapshot of 2026-11-20T12:00:00Z (3h ago)"
    assert identified(Source.DEMO) == who + "demo cluster, fixed at 2026-11-20T12:00:00Z"


def test_identity_calls_the_unknown_unknown() -> None:
    line = identified(Source.LIVE, context="", cluster="", account="", region="")
    assert line == "context unknown · cluster unknown · account unknown · region unknown · live, read 3h ago"


def test_a_dump_without_a_time_has_no_age() -> None:
    assert identity_line(replace(a_cluster(), observed_at=UNKNOWN_TIME), NOW).endswith(" · snapshot without a time")


def test_identity_of_data_from_the_future_says_so() -> None:
    line = identity_line(a_cluster(), NOW - timedelta(minutes=5))
    assert line.endswith("snapshot of 2026-11-20T12:00:00Z (5m00s ahead of this machine's clock)")


PODS = tuple(a_pod(f"web-5f7-{n}", "shop", owner="ReplicaSet/web-5f7", node=f"old-{n % 3}") for n in range(34))


def pods_view(*findings: object, left: tuple[NotEvictedPod, ...] = ()) -> object:
    cluster = a_cluster(workloads=[a_workload("ReplicaSet/web-5f7", "shop", owner="Deployment/web")])
    rows = left or tuple(NotEvictedPod(p, p.node, PodVerdict.BLOCKED, ("pod-emptydir",), "x") for p in PODS)
    return a_view(an_empty_plan(left=rows, findings=findings), cluster)


def emptydir(n: int, message: str = "the data of {} goes") -> object:
    pod = PODS[n]
    remedy = Remedy(f"Save {pod.name}.", f"kubectl cp shop/{pod.name}:/data .")
    return a_finding(Code.of("pod-emptydir"), Status.FAIL, pod, message.format(pod.key), Severity.HIGH, remedy)


def test_pods_of_one_app_are_one_group() -> None:
    view = pods_view(*(emptydir(n) for n in range(34)))
    (group,) = grouped(view.blockers, view)  # type: ignore[attr-defined]
    assert group.about == "34 pods of Deployment shop/web"
    assert group.short_name == "shop/web"
    assert group.messages == ("the data of shop/web-5f7-0 goes",)
    assert group.nodes == ("old-0", "old-1", "old-2")
    ((remedy, commands),) = group.remedies
    assert remedy.text == "Save web-5f7-0." and len(commands) == 34


def test_what_differs_stays_visible() -> None:
    view = pods_view(emptydir(0), emptydir(1), emptydir(2, "{} is another matter"))
    (group,) = grouped(view.blockers, view)  # type: ignore[attr-defined]
    assert group.messages == ("the data of shop/web-5f7-0 goes", "shop/web-5f7-2 is another matter")


def test_statuses_and_codes_are_never_mixed() -> None:
    other = a_finding(Code.of("pod-hostpath"), Status.FAIL, PODS[0])
    unknown = a_finding(Code.of("pod-emptydir"), Status.UNKNOWN, PODS[1], missing="pods")
    view = pods_view(emptydir(0), other, unknown)
    assert len(grouped(view.findings, view)) == 3  # type: ignore[attr-defined]
    same = [a_finding(Code.of("pod-emptydir"), status, PODS[0], "the same") for status in Status]
    view = pods_view(*same)
    assert len(grouped(view.findings, view)) == 3  # type: ignore[attr-defined]


def test_nodes_of_which_the_same_is_said_are_one_group_and_budgets_never() -> None:
    nodes = [
        a_finding(Code.of("node-fargate"), Status.FAIL, Subject("Node", f"fargate-{n}"), f"fargate-{n} is not drained")
        for n in range(3)
    ]
    budgets = [
        a_finding(
            Code.of("budget-never-allows"), Status.FAIL, Subject("PodDisruptionBudget", name, "shop"), "allows none"
        )
        for name in ("a", "b")
    ]
    view = pods_view(*nodes, *budgets)
    abouts = [group.about for group in grouped(view.blockers, view)]  # type: ignore[attr-defined]
    assert sorted(abouts) == ["3 Nodes", "PodDisruptionBudget shop/a", "PodDisruptionBudget shop/b"]


def test_a_finding_about_an_owner_names_the_nodes_of_its_pods() -> None:
    found = a_finding(Code.of("pod-emptydir"), Status.FAIL, Subject("Deployment", "web", "shop"))
    view = pods_view(found)
    assert view.blocked_nodes(found) == ("old-0", "old-1", "old-2")  # type: ignore[attr-defined]


def test_warnings_that_say_the_same_are_one_group_over_all_namespaces() -> None:
    warnings = [
        a_finding(Code.of("single-replica"), Status.PASS, Subject("Deployment", "mailer", ns), "downtime")
        for ns in ("shop", "ops")
    ]
    view = pods_view(*warnings)
    (group,) = grouped(view.warnings, view)  # type: ignore[attr-defined]
    assert group.about == "2 Deployments" and group.names == ("ops/mailer", "shop/mailer")


def test_a_plan_that_assumes_something_says_it_first() -> None:
    """In terms of Kubernetes: what a budget allows, and which findings count as fixed."""
    plan = an_empty_plan()
    policy = replace(plan.policy, assume_budgets=(("shop/cart", 2),), assume_fixed=frozenset(("pod-emptydir",)))
    said = plan_summary(a_view(replace(plan, policy=policy)))
    assert said.startswith(
        "Assuming that budget shop/cart allows 2 disruptions and every finding pod-emptydir is fixed: "
    )


def test_the_time_of_new_nodes_is_said_to_be_in_the_figure() -> None:
    """The time is in the figure, because the run waits for the nodes. If every pod has a place, or no node is added
    automatically, the run does not wait."""
    run = Estimate(152.0, 392.0, (), 1, ())

    def said(status: Status, lands_on: str = "") -> str:
        evictions = (Eviction(1, 1, a_pod("web-1"), "old-1", "", "", lands_on),)
        found = (a_finding(Code.of("needs-nodes"), status, Subject("Cluster", "cluster"), "1 new node needed"),)
        return plan_summary(a_view(an_empty_plan(evictions=evictions, findings=found, estimate=run)))

    figure = "1 eviction in 1 round, about 2m32s (p95 6m32s)"
    assert f"{figure}, including 2m for new nodes (assumed). " in said(Status.PASS)
    assert f"{figure}. " in said(Status.PASS, "new-1")
    assert f"{figure}. " in said(Status.FAIL)


@given(st.lists(st.text(max_size=6)))
def test_sentences_end_with_one_stop(texts: list[str]) -> None:
    said = join_sentences(*texts)
    assert join_sentences(said) == said and (not said or said[-1] in ".!?…")
    assert join_sentences("it was refused.", "", "no answer", "Why?") == "it was refused. no answer. Why?"
