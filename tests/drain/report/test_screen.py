"""The text of a plan fits a terminal, and so does the text above the prompt; EKSDOC_UPDATE_GOLDEN=1 writes both golden
files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.command.options import guard_texts
from kubectl_eksdoc.drain.outcome import PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.report import verdict as prompt
from kubectl_eksdoc.drain.report.findings import blocker_causes
from kubectl_eksdoc.drain.report.formats import MAX_LINES, DrainReport
from kubectl_eksdoc.drain.report.verdict import confirmation_text
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.embedded.demo.reader import DemoReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Code, Status, Subject
from kubectl_eksdoc.model.kinds import KindRead, ReadState, Resource
from kubectl_eksdoc.report.text import Appearance
from tests.drain.report.plans import a_finding, a_target, a_view, an_empty_plan
from tests.drain.report.test_recorded import READERS, view_of
from tests.drain.report.test_steps import blocked_by
from tests.report.golden import check_golden

render = DrainReport.render

GOLDEN = Path(__file__).parent / "golden_screen"
ROLLBACK = "kubectl eksdoc drain rollback"
NAMES = [pytest.param(name, marks=[pytest.mark.long] * (name == "medium")) for name in READERS]


def asked(view: DrainReport, look: Appearance) -> str:
    return confirmation_text(view, look, guard_texts(RunLimits()), ROLLBACK)


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_fits_a_screen(name: str) -> None:
    text = render(view_of(name), "table", Appearance(width=100))
    assert len(text.splitlines()) <= MAX_LINES
    assert text.count("\nNot judged: ") == 1 and text.count("\nNEXT ") == 1
    check_golden(GOLDEN / f"{name}.txt", text)


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_above_the_prompt_is_short(name: str) -> None:
    text = asked(view_of(name), Appearance(width=100))
    assert len(text.splitlines()) <= prompt.MAX_LINES
    check_golden(GOLDEN / f"{name}-prompt.txt", text)


def test_it_says_what_a_run_would_do_otherwise_than_by_default() -> None:
    """The text names skipped targets that stay schedulable, and pods that are deleted past their budget."""
    cluster, plan = plan_drain(DemoReader(), Targeting(nodegroups=("blue",)), DrainPolicy(cordon_skipped=False))
    text = asked(DrainReport(plan, cluster), Appearance(width=120))
    assert "  skipped     3, not cordoned: blue-6" in text
    assert "evicted pods can be scheduled onto blue-6, blue-7, blue-8: evicted twice" in text, text


def test_the_page_before_a_prompt_has_no_next_command() -> None:
    before = replace(view_of("demo"), preview=True)
    assert "NEXT" not in render(before, "table", Appearance(width=100)) + render(before, "wide", Appearance())


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {
        f"{name}{end}.txt" for name in READERS for end in ("", "-prompt")
    }


def test_causes_stand_in_the_order_in_which_their_fixes_free_nodes() -> None:
    """A node with one cause comes first; a cause of several nodes has the position of the last node that its fix
    frees."""
    view = blocked_by(
        ("web", PodVerdict.BLOCKED, ("pod-emptydir",)),
        ("sale", PodVerdict.BLOCKED, ("pod-returns",)),
    )
    found = blocker_causes(view)
    assert [(cause.code, cause.freed_alone) for cause in found] == [("pod-emptydir", 0), ("pod-returns", 0)]
    assert [cause.frees for cause in found] == ["frees no node by itself", "frees 1 node with those above"]
    assert found[0].command.endswith(" --delete-emptydir-data")


def test_a_cause_that_alone_keeps_nodes_frees_them_by_itself() -> None:
    nodes = ("old-0", "old-1")
    targets = tuple(a_target(name, TargetVerdict.REFUSED) for name in nodes)
    findings = tuple(a_finding(Code.of("node-fargate"), Status.FAIL, Subject("Node", name)) for name in nodes)
    (cause,) = blocker_causes(a_view(an_empty_plan(targets=targets, findings=findings)))
    assert (cause.nodes, cause.freed_nodes, cause.frees) == (nodes, nodes, "frees 2 nodes")


def test_a_kind_that_was_not_read_is_named_with_its_reason() -> None:
    view = a_view()

    def last_line(*unread: tuple[Resource, ReadState]) -> str:
        reads = tuple(KindRead(resource, state) for resource, state in unread)
        text = render(replace(view, cluster=replace(view.cluster, reads=reads)), "table", Appearance(width=100))
        return next(line for line in text.splitlines() if line.startswith("More in -o wide: "))

    budgets = (kinds.BUDGETS, ReadState.FORBIDDEN)
    assert "not read: poddisruptionbudgets (forbidden)" in last_line(budgets)
    several = last_line(budgets, (kinds.SERVICES, ReadState.NOT_HELD), (kinds.LEASES, ReadState.NOT_HELD))
    assert "2 kinds not held, 1 kind forbidden" in several
