"""What came of a run, in sentences: against what users were told it would take, and what held it back."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubectl_eksdoc.drain.report.record import RecordView, placed, skipped_targets
from kubectl_eksdoc.drain.report.run import RunReport, RunResult, against_plan, verdict
from kubectl_eksdoc.drain.run.events import Happened, RunMoment
from kubectl_eksdoc.drain.run.result import Record
from kubectl_eksdoc.model.cluster import played
from kubectl_eksdoc.model.journal import Cause
from kubectl_eksdoc.rehearse.report import differences
from kubectl_eksdoc.report.text import Look
from tests.reading import printed
from tests.rehearsed import rehearsed_demo

BEGAN = datetime(2026, 11, 20, 9, 0, tzinfo=timezone.utc)


def ended(record: Record) -> RunReport:
    view = RecordView(record, rehearsed_demo().cluster)
    return RunReport("r1", view, BEGAN, BEGAN + timedelta(seconds=record.ended_s), "ann", "laptop")


def with_holds(*holds: tuple[float, Happened, str], **changed: float) -> RunReport:
    record = replace(rehearsed_demo().record, drained_s=None)
    moments = tuple(RunMoment(at_s, what, "the drain", "", why) for at_s, what, why in holds)
    others = (each for each in record.moments if each.what not in (Happened.HELD, Happened.RELEASED))
    return ended(replace(record, moments=(*others, *moments), **changed))  # type: ignore[arg-type]


def test_time_is_told_against_the_figure_that_users_were_told() -> None:
    estimate = rehearsed_demo().plan.estimate
    assert estimate is not None
    late = ended(replace(rehearsed_demo().record, ended_s=estimate.p50_s + 30, drained_s=None))
    share = f"{30 / estimate.p50_s:+.0%}"
    assert against_plan(late)[0] == f"It took 30s longer than p50 (2m16s, {share}), within p95 (6m18s)."


def test_a_rehearsal_that_plays_faster_than_time_is_not_compared_with_the_plan() -> None:
    usual = ended(rehearsed_demo().record)
    who = replace(usual.record.cluster.identity, server_version=played("v1.33.0", 15))
    view = replace(usual, record=replace(usual.record, cluster=replace(usual.record.cluster, identity=who)))
    told = against_plan(view)
    assert told[0] == "Not compared with p50: the cluster plays 15 times as fast." and "than p50" not in " ".join(told)
    result: Any = printed(RunResult.of(view))
    assert result["errors"] is None and result["lateSeconds"] is None
    assert printed(RunResult.of(usual))["errors"] is not None


@pytest.mark.parametrize("output", ["table", "wide", "markdown"])
def test_what_was_to_be_done_before_the_drain_is_not_advised_after_it(output: str) -> None:
    told = ended(rehearsed_demo().record).render(output, Look(width=200))
    assert "Make a new group with Amazon Linux 2023 beside it" in told
    assert "before the drain" not in told and "update-nodegroup-version" not in told, "EKS has no AMI for that"


def test_the_result_says_where_the_difference_came_from() -> None:
    estimate = rehearsed_demo().plan.estimate
    assert estimate is not None
    causes = {Cause.STOPPING: -40.0, Cause.STARTING: 95.0, Cause.HOLDS: 0.0, Cause.BUDGETS: 2.0}
    took_s = estimate.p50_s + 57
    view = ended(replace(rehearsed_demo().record, ended_s=took_s, drained_s=None, causes=causes))
    assert against_plan(view)[0].endswith("within p95 (6m18s): starting +1m35s, stopping -40s.")
    errors: Any = printed(RunResult.of(view))["errors"]
    assert errors["p50"] == pytest.approx(57) and errors["p95"] == pytest.approx(took_s - estimate.p95_s, abs=0.01)
    assert errors["causes"][0] == {"cause": "stopping", "seconds": -40.0}


def test_a_pause_is_told_and_does_not_count_as_late() -> None:
    estimate = rehearsed_demo().plan.estimate
    assert estimate is not None
    holds = ((10.0, Happened.HELD, "the user paused it"), (55.0, Happened.RELEASED, ""))
    view = with_holds(*holds, ended_s=estimate.p50_s + 45 - 20, paused_s=45.0)
    assert "(45s of it paused)" in verdict(view)
    told = against_plan(view)
    assert told[0].startswith("It took (without its pause) 20s less than p50 (2m16s, -15%), within p95")
    assert "It was held back for 45s (the user paused it)." in told
    plain = with_holds(ended_s=view.record.ended_s)
    assert view.record.late_s == plain.record.late_s - 45  # type: ignore[operator]


def test_what_held_it_back_is_told_with_all_reasons_and_whether_it_was_so_to_the_end() -> None:
    first = ((10.0, Happened.HELD, "2 nodes are NotReady"), (20.0, Happened.RELEASED, ""))
    then = ((30.0, Happened.HELD, "no answer"), (33.0, Happened.HELD, "no answer"))
    told = against_plan(with_holds(*first, *then, ended_s=40.0))
    assert "It was held back 2 times, for 20s, to its end (2 nodes are NotReady; no answer)." in told
    assert not any("held back" in line for line in against_plan(with_holds()))


def test_where_replacements_were_scheduled_and_what_was_cordoned_besides() -> None:
    view = ended(rehearsed_demo().record).record
    assert not view.record.pending, "a first drain of the demo ends with a pod that finds no node"
    assert placed(view).startswith("0 of 37 replacements were scheduled onto targets; all onto green-1 (")
    assert skipped_targets(view) == (
        "3 skipped targets were cordoned and stay so until a rollback: blue-6, blue-7, blue-8."
    )
    on_targets = ended(replace(view.record, placed={"blue-6": 2, "green-1": 1}, cordoned_only=())).record
    assert placed(on_targets) == (
        "2 of 3 replacements were scheduled onto targets (blue-6 (2)), and have to be evicted again; the others onto "
        "green-1 (1)."
    )
    assert skipped_targets(on_targets) == "" and placed(ended(replace(view.record, placed=None)).record) == ""
    said = "2 replacements were scheduled onto targets; the plan has all on other nodes."
    assert said in differences(on_targets) and said not in differences(view)


def test_skipped_targets_that_are_not_cordoned_are_no_surprise() -> None:
    record = rehearsed_demo().record
    left_open = replace(record.plan, policy=replace(record.plan.policy, cordon_skipped=False))
    view = ended(replace(record, plan=left_open, placed={"blue-6": 2, "green-1": 1}, cordoned_only=())).record
    assert skipped_targets(view) == (
        "3 skipped targets were not cordoned (--no-cordon-skipped): blue-6, blue-7, blue-8."
    )
    (said,) = [each for each in differences(view) if "replacements" in each]
    assert said.startswith("2 replacements were scheduled onto skipped targets, which are not cordoned; ")


def test_holds_by_name_are_told_with_their_budgets() -> None:
    held = ((10.0, Happened.HELD_BY_NAME, "x"), (130.0, Happened.HELD_BY_NAME, "x"))
    said = (
        "Budgets counted pods as evicted that came back under their names, for up to 2 min each: the drain (2 times)."
    )
    assert said in against_plan(with_holds(*held))
