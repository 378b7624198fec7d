"""What a log and counters prove: before, after, and whatever else they hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.interruption.plan import plan_interruption
from kubectl_eksdoc.interruption.spot import ALIVE, log_signs, messages_counted
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.quantities import parse
from kubectl_eksdoc.model.queues import Figures
from tests.interruption.healthy import LEADER, facts, planned, statuses

FAILED = (
    '{"level":"ERROR","time":"2026-11-20T08:50:36Z","message":"failed to create valid sqs provider","error":"no queue"}'
)
DELETES = f'{{"level":"INFO","time":"2026-11-20T08:51:00Z","message":"{ALIVE}","node":"ip-1"}}'
CONSOLIDATES = '{"level":"INFO","logger":"controller.disruption","message":"disrupting via consolidation delete"}'
CONSOLE = f"2026-11-20T08:51:00.000Z\tINFO\tcontroller.interruption\t{ALIVE}\t{{}}"
STARTS = '{"logger":"controller.interruption","message":"starting"}'
PANIC = "panic: fetching queue url, AWS.SimpleQueueService.NonExistentQueue: it does not exist [recovered]"
OLD = "karpenter_interruption_received_messages"
V1_5, V1_12 = parse("1.5.0"), parse("1.12.0")


@pytest.mark.parametrize(
    ("lines", "failed", "alive", "reads"),
    [
        ([FAILED], True, False, False),
        ([FAILED, DELETES], False, True, False),
        ([DELETES, FAILED], True, True, False),
        ([CONSOLE], False, True, False),
        ([CONSOLIDATES], False, False, False),
        ([STARTS], False, False, True),
        (['{"level":"DEBUG","message":"watching interruption queue"}'], False, False, True),
        ([PANIC], True, False, False),
        (["panic: something else"], False, False, False),
        (["panic:", "goroutine 1", "github.com/aws/… sqs.NewSQSProvider"], True, False, False),
        ([], False, False, False),
    ],
)
def test_lines(lines: list[str], failed: bool, alive: bool, reads: bool) -> None:
    signs = log_signs("\n".join(lines), V1_5)
    assert (bool(signs.failed), bool(signs.alive), bool(signs.reads)) == (failed, alive, reads)


def test_from_v1_12_on_the_name_of_the_controller_proves_nothing() -> None:
    assert log_signs(STARTS, V1_5).reads and not log_signs(STARTS, V1_12).reads


def test_an_error_with_quotes_in_it_is_told_to_its_end() -> None:
    line = FAILED.replace("no queue", 'no \\"prod\\" there')
    assert log_signs(line, V1_5).failed.endswith(r"provider: no \"prod\" there")


@given(st.text(), st.lists(st.sampled_from([FAILED, DELETES, PANIC, STARTS, "\x00", '{"message":"'])))
def test_any_text_is_read(text: str, lines: list[str]) -> None:
    signs = log_signs("\n".join([text, *lines]), V1_5)
    assert all(isinstance(each, str) and len(each) <= 201 for each in (signs.failed, signs.alive, signs.reads))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('karpenter_interruption_received_messages_total{message_type="spot_interrupted"} 3\n', 3),
        ("karpenter_interruption_received_messages_total 1e+01", 10),
        (f'{OLD}{{message_type="a"}} 1\n{OLD}{{message_type="b"}} 2', 3),
        ("# HELP karpenter_interruption_received_messages_total Count\n", None),
        ("karpenter_interruption_deleted_messages_total 4", None),
        ("karpenter_interruption_received_messages_total NaN", None),
        ("", None),
    ],
)
def test_counters(text: str, count: int | None) -> None:
    assert messages_counted(text) == count


def life(**more: Any) -> str:
    plan = planned(**more)
    (link,) = (each for each in plan.links if each.name == "sign of life")
    return link.what


def test_the_surest_sign_is_told() -> None:
    assert ALIVE in life(logs={LEADER: DELETES})
    given_metrics = facts(figures=Figures())
    counted = {LEADER: "karpenter_interruption_received_messages_total 2"}
    plan = plan_interruption(replace(given_metrics, metrics=counted))
    assert "it has counted 2 messages" in next(e.what for e in plan.links if e.name == "sign of life")
    assert "5 messages were taken" in life(figures=Figures(deleted=5, empty=1))
    assert "a consumer polls" in life()


def test_what_was_said_before_the_queue_was_mended_is_over() -> None:
    def log_of(now: datetime, **more: Any) -> str:
        before = facts(logs={LEADER: FAILED}, **more)
        seen = replace(before, cluster=replace(before.cluster, observed_at=now))
        return statuses(plan_interruption(seen)).get("Karpenter's log", "")

    at = datetime(2026, 11, 20, 8, 50, 36, tzinfo=timezone.utc)
    assert log_of(at + timedelta(minutes=21)) == "", "the queue is there, and fetched from"
    assert log_of(at + timedelta(minutes=19)) == "fail"
    assert log_of(at + timedelta(minutes=21), figures=Figures()) == "fail", "nobody is seen to fetch"
    assert log_of(at + timedelta(minutes=21), queue=Absent("there is none")) == "fail"


def test_a_log_that_was_not_read_may_be_that_of_the_one_that_reads_the_queue() -> None:
    plan = planned(logs={LEADER: "started", "kube-system/karpenter-1": Unknown("forbidden", "get pods/log")})
    assert statuses(plan) == {"Karpenter's log": "unknown"}


@pytest.mark.parametrize("log", [Unknown("forbidden", "get pods/log"), Absent("no such pod")])
def test_without_a_log_it_is_unknown(log: Any) -> None:
    plan = planned(logs={LEADER: log})
    assert statuses(plan) == {"Karpenter's log": "unknown"} and plan.outage.handled is True, "it is seen to fetch"
    blind = planned(logs={LEADER: log}, figures=Figures())
    assert blind.outage.handled is None
