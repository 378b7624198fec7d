"""The findings of two plans as every command tells them."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.drain.comparison.changes import Comparison
from kubectl_eksdoc.drain.comparison.comparing import compare, outline
from kubectl_eksdoc.model.baseline import TargetOutline
from tests.drain.comparison.test_comparing import HERE, a_plan, compared, saved


def told(comparison: Comparison) -> list[tuple[str, str]]:
    return [(each.became.value, each.either.code) for each in comparison.since.changes]


def test_what_blocks_now_is_new_and_what_blocked_then_is_fixed() -> None:
    assert told(compared(a_plan(), a_plan(bare=True))) == [("new", "pod-unmanaged")]
    comparison = compared(a_plan(bare=True), a_plan())
    assert told(comparison) == [("fixed", "pod-unmanaged")]
    assert comparison.since.earlier.file == "old.json" and comparison.since.earlier.tool_version == "1.2.3"


def test_what_went_with_a_node_of_the_same_choice_is_gone() -> None:
    now = compare(saved(a_plan(bare=True), nodegroup=["blue"]), HERE, a_plan("old-0"), {"nodegroup": ["blue"]})
    assert told(now) == [("fixed", "pod-unmanaged")]


def test_another_choice_of_nodes_has_not_judged_what_only_the_other_one_has() -> None:
    now = compare(saved(a_plan(bare=True), nodes=["old-0", "old-1"]), HERE, a_plan("old-0"), {"nodes": ["old-0"]})
    assert told(now) == [("not-judged-this-time", "pod-unmanaged")]
    assert now.since.changes[0].why == "other objects were checked"
    back = compare(saved(a_plan("old-0"), nodes=["old-0"]), HERE, a_plan(bare=True), {"nodes": ["old-0", "old-1"]})
    assert told(back) == [("new", "pod-unmanaged")] and back.since.changes[0].why


def test_a_node_that_cannot_be_judged_fixes_nothing_on_it() -> None:
    now = outline(a_plan(bare=True))
    open_one = replace(now, findings=(), targets=(TargetOutline("old-0", "drains"), TargetOutline("old-1", "unknown")))
    back = compare(saved(open_one), HERE, a_plan(bare=True), {})
    assert told(back) == [("new", "pod-unmanaged")] and back.since.changes[0].why == "what it rests on was not read"
