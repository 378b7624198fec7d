"""The result of a run in sentences: its duration against the predicted one, and the causes of delay."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubectl_eksdoc.drain.report.record import DrainResultView, placements_text, skipped_targets_text
from kubectl_eksdoc.drain.report.run import RunReport, RunResult, plan_differences, run_summary
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.result import Record
from kubectl_eksdoc.model.cluster import simulated_version
from kubectl_eksdoc.model.journal import DelayCause
from kubectl_eksdoc.rehearse.report import differences
from kubectl_eksdoc.report.text import Appearance
from tests.rehearsed import rehearsed_demo
from tests.yaml_reader import printed

BEGAN = datetime(2026, 11, 20, 9, 0, tzinfo=timezone.utc)


def ended(record: Record) -> RunReport:
    view = DrainResultView(record, rehearsed_demo().cluster)
    return RunReport("r1", view, BEGAN, BEGAN + timedelta(seconds=record.ended_s), "ann", "laptop")


def with_holds(*holds: tuple[float, DrainEventKind, str], **changed: float) -> RunReport:
    record = replace(rehearsed_demo().record, drained_s=None)
    moments = tuple(DrainEvent(at_s, what, "the drain", "", why) for at_s, what, why in holds)
    others = (each for each in record.moments if each.what not in (DrainEventKind.HELD, DrainEventKind.RELEASED))
    return ended(replace(record, moments=(*others, *moments), **changed))  # type: ignore[arg-type]


def test_time_is_told_against_the_figure_that_users_were_told() -> None:
    estimate = rehearsed_demo().plan.estimate
    assert estimate is not None
    late = ended(replace(rehearsed_demo().record, ended_s=estimate.p50_s + 30, drained_s=None))
    share = f"{30 / estimate.p50_s:+.0%}"
    assert plan_differences(late)[0] == f"It took 30s longer than p50 (2m16s, {share}), within p95 (6m18s)."


def test_a_rehearsal_that_plays_faster_than_time_is_not_compared_with_the_plan() -> None:
    usual = ended(rehearsed_demo().record)
    who = replace(usual.drain.cluster.identity, server_version=simulated_version("v1.33.0", 15))
    view = replace(usual, drain=replace(usual.drain, cluster=replace(usual.drain.cluster, identity=who)))
    told = plan_differences(view)
    assert told[0] == "Not compared with p50: the cluster plays 15 times as fast." and "than p50" not in " ".join(told)
    result: Any = printed(RunResult.of(view))
    assert result["errors"] is None and result["lateSeconds"] is None
    assert printed(RunResult.of(usual))["errors"] is not None


@pytest.mark.parametrize("output", ["table", "wide", "markdown"])
def test_what_was_to_be_done_before_the_drain_is_not_advised_after_it(output: str) -> None:
    told = ended(rehearsed_demo().record).render(output, Appearance(width=200))
    assert "Make a new group with Amazon Linux 2023 beside it" in told
    assert "before the drain" not in told and "update-nodegroup-version" not in told, "EKS has no AMI for that"


def test_the_result_says_where_the_difference_came_from() -> None:
    estimate = rehearsed_demo().plan.estimate
    assert estimate is not None
    causes = {DelayCause.STOPPING: -40.0, DelayCause.STARTING: 95.0, DelayCause.HOLDS: 0.0, DelayCause.BUDGETS: 2.0}
    took_s = estimate.p50_s + 57
    view = ended(replace(rehearsed_demo().record, ended_s=took_s, drained_s=None, causes=causes))
    assert plan_differences(view)[0].endswith("within p95 (6m18s): starting +1m35s, stopping -40s.")
    errors: Any = printed(RunResult.of(view))["errors"]
    assert errors["p50"] == pytest.approx(57) and errors["p95"] == pytest.approx(took_s - estimate.p95_s, abs=0.01)
    assert errors["causes"][0] == {"cause": "stopping", "seconds": -40.0}


def test_a_pause_is_told_and_does_not_count_as_late() -> None:
    estimate = rehearsed_demo().plan.estimate
    assert estimate is not None
    holds = ((10.0, DrainEventKind.HELD, "the user paused it"), (55.0, DrainEventKind.RELEASED, ""))
    view = with_holds(*holds, ended_s=estimate.p50_s + 45 - 20, paused_s=45.0)
    assert "(45s of it paused)" in run_summary(view)
    told = plan_differences(view)
    assert told[0].startswith("It took (without its pause) 20s less than p50 (2m16s, -15%), within p95")
    assert "It was held back for 45s (the user paused it)." in told
    plain = with_holds(ended_s=view.drain.ended_s)
    assert view.drain.late_s == plain.drain.late_s - 45  # type: ignore[operator]


def test_what_held_it_back_is_told_with_all_reasons_and_whether_it_was_so_to_the_end() -> None:
    first = ((10.0, DrainEventKind.HELD, "2 nodes are NotReady"), (20.0, DrainEventKind.RELEASED, ""))
    then = ((30.0, DrainEventKind.HELD, "no answer"), (33.0, DrainEventKind.HELD, "no answer"))
    told = plan_differences(with_holds(*first, *then, ended_s=40.0))
    assert "It was held back 2 times, for 20s, to its end (2 nodes are NotReady; no answer)." in told
    assert not any("held back" in line for line in plan_differences(with_holds()))


def test_where_replacements_were_scheduled_and_what_was_cordoned_besides() -> None:
    view = ended(rehearsed_demo().record).drain
    assert not view.drain_result.pending, "a first drain of the demo ends with a pod that finds no node"
    assert placements_text(view).startswith("0 of 37 replacements were scheduled onto targets; all onto green-1 (")
    assert skipped_targets_text(view) == (
        "3 skipped targets were cordoned and stay so until a rollback: blue-6, blue-7, blue-8."
    )
    on_targets = ended(replace(view.drain_result, placed={"blue-6": 2, "green-1": 1}, cordoned_only=())).drain
    assert placements_text(on_targets) == (
        "2 of 3 replacements were scheduled onto targets (blue-6 (2)), and have to be evicted again; the others onto "
        "green-1 (1)."
    )
    assert (
        skipped_targets_text(on_targets) == ""
        and placements_text(ended(replace(view.drain_result, placed=None)).drain) == ""
    )
    said = "2 replacements were scheduled onto targets; the plan has all on other nodes."
    assert said in differences(on_targets) and said not in differences(view)


def test_skipped_targets_that_are_not_cordoned_are_no_surprise() -> None:
    record = rehearsed_demo().record
    left_open = replace(record.plan, policy=replace(record.plan.policy, cordon_skipped=False))
    view = ended(replace(record, plan=left_open, placed={"blue-6": 2, "green-1": 1}, cordoned_only=())).drain
    assert skipped_targets_text(view) == (
        "3 skipped targets were not cordoned (--no-cordon-skipped): blue-6, blue-7, blue-8."
    )
    (said,) = [each for each in differences(view) if "replacements" in each]
    assert said.startswith("2 replacements were scheduled onto skipped targets, which are not cordoned; ")


def test_holds_by_name_are_told_with_their_budgets() -> None:
    held = ((10.0, DrainEventKind.HELD_BY_NAME, "x"), (130.0, DrainEventKind.HELD_BY_NAME, "x"))
    said = (
        "Budgets counted pods as evicted that came back under their names, for up to 2 min each: the drain (2 times)."
    )
    assert said in plan_differences(with_holds(*held))
