"""Page [4] What to fix: causes, each with the nodes that its fix frees. The plan can assume a cause as fixed, and a
real fix is reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.command.screen_ports import PreparedRun, RunKind
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.report.findings import assumed_fixed, blocker_causes, blocking_subjects
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.tui import details
from kubectl_eksdoc.tui.model import CHANGED_INTERVAL_S
from kubectl_eksdoc.tui.run import confirm
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.tables import budgets
from tests.tui.live_clusters import DEMO, LiveCluster
from tests.tui.pilots import Drives, drive, lines, notes_of, page_text, planned, press
from tests.tui.run.scripted import ScriptedLive
from tests.tui.test_live import tick, until
from tests.tui.test_table_contents import BLUE, CLUSTER, VIEW

CODES = tuple(cause.code for cause in blocker_causes(VIEW))


def test_each_cause_is_one_row() -> None:
    rows = budgets.blocker_rows(VIEW)
    assert [row.key for row in rows][: len(CODES)] == list(CODES), "in the order in which fixing them frees nodes"
    assert all(row.code for row in rows if row.cause is not None)
    assert not any(row.code for row in rows if row.cause is None), "what only warns cannot be taken for fixed"


def test_of_many_nodes_that_are_held_up_some_are_named() -> None:
    group = replace(budgets.finding_groups(VIEW)[0], nodes=tuple(f"node-{number}" for number in range(500)))
    told = [line for line in details.group_lines(group) if isinstance(line, str) and line.startswith("holds up")]
    assert [line.endswith(" and 460 more") for line in told] == [True]


@pytest.mark.parametrize("code", CODES)
def test_what_is_taken_for_fixed_stays_a_row_and_is_no_blocker(code: str) -> None:
    view = DrainView(build_plan(CLUSTER, BLUE, DrainPolicy(assume_fixed=frozenset({code}))), CLUSTER)
    ((found, groups),) = assumed_fixed(view)
    (first, *others) = budgets.blocker_rows(view)
    assert found == code and groups and first.fixed and first.code == code
    assert code not in {row.code for row in others}
    assert blocking_subjects(VIEW) == blocking_subjects(view), "it is only assumed"


def test_space_takes_a_cause_for_fixed_and_the_plan_follows_until_it_is_taken_back() -> None:
    async def work(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "4")
        assert "space assume fixed" in lines(pilot.app)[-1]
        for code in CODES:
            screen._page_widget(screen.page).table.go_to(code)
            await press(pilot, "space")
        assert screen.model.choice.plan_input.policy.assume_fixed == frozenset(CODES)
        said = page_text(pilot)
        assert "WHAT IF 7 fixed" in said and "Plan 8 of 8 marked" in said and "assumed fixed" in said
        await press(pilot, "r")
        assert any("assumes a cause fixed that is not" in each for each in notes_of(pilot))
        await press(pilot, "z")
        assert len(screen.model.choice.plan_input.policy.assume_fixed) == len(CODES) - 1
        screen._page_widget(screen.page).table.go_to(CODES[0])
        await press(pilot, "space")
        assert CODES[0] not in screen.model.choice.plan_input.policy.assume_fixed

    drive(work)


def test_rows_stay_where_they_are_and_what_is_freed_with_those_above_is_so() -> None:
    fixed = frozenset({CODES[1], CODES[4]})
    view = DrainView(build_plan(CLUSTER, BLUE, DrainPolicy(assume_fixed=fixed)), CLUSTER)
    rows = budgets.blocker_rows(view, CODES)
    assert tuple(row.code for row in rows if row.code) == CODES
    above: set[str] = set(fixed)
    for row in rows:
        if row.cause is not None:
            above.add(row.code)
            for node in row.cause.freed_nodes:
                codes = {code for left in view.left if left.node == node for code in left.codes}
                assert codes & set(CODES) <= above, node


def test_y_copies_the_commands_of_a_cause_and_a_warning_is_no_cause() -> None:
    async def work(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "4")
        screen._page_widget(screen.page).table.go_to("budget-never-allows")
        await press(pilot, "y")
        assert pilot.app.clipboard == "kubectl scale deployment sale -n shop --replicas=4"
        assert list(pilot.app._notifications)[-1].message.startswith("copied 1 of 3 (y: the next): kubectl scale")
        await press(pilot, "y")
        assert pilot.app.clipboard == "kubectl rollout restart deployment/sale -n shop"
        await press(pilot, "y", "y")
        assert sum(each.message.startswith("copied") for each in pilot.app._notifications) == 1, "they do not pile up"
        assert pilot.app.clipboard == "kubectl scale deployment sale -n shop --replicas=4", "after the last the first"
        await press(pilot, "G", "space")
        assert not screen.model.choice.plan_input.policy.assume_fixed
        assert any("no cause of a blocker is on this row" in each for each in notes_of(pilot))

    drive(work)


def test_a_fix_that_happens_in_the_cluster_is_ticked_off_and_taken_for_fixed_no_more() -> None:
    mended = replace(DEMO, budgets=tuple(b for b in DEMO.budgets if b.key != "shop/sale"))
    cluster = LiveCluster([DEMO, mended], targeting=Targeting(nodegroups=("blue",)))

    async def work(pilot: Drives, screen: PlanScreen) -> None:
        await planned(pilot)
        await press(pilot, "4")
        screen._page_widget(screen.page).table.go_to("budget-never-allows")
        await press(pilot, "space")
        assert "WHAT IF 1 fixed" in page_text(pilot)
        screen.model = replace(screen.model, reads=screen.model.reads.cluster_changed(cluster.clock()))
        await tick(pilot, cluster, CHANGED_INTERVAL_S * 100)
        await until(pilot, lambda: cluster.reads == 2)
        await until(pilot, lambda: not screen.model.choice.plan_input.policy.assume_fixed)
        await planned(pilot)
        await pilot.pause()
        assert any("no longer in the way" in each for each in notes_of(pilot))
        said = page_text(pilot)
        assert "WHAT IF" not in said and not any("✗ PDB never allows" in line for line in said.splitlines())
        (ticked,) = (line for line in said.splitlines() if "✓ PDB never allows" in line)
        assert ticked.partition("allows")[2].split()[:4] == ["shop/sale", "·", "fixed", "·"]
        screen._page_widget(screen.page).table.go_to("budget-never-allows shop/sale")
        await press(pilot, "space", "a", "y")
        assert not screen.model.choice.plan_input.policy.assume_fixed, "it is done"

    drive(work, cluster.opening())


def test_a_allows_in_this_run_what_a_flag_decides_and_takes_it_back() -> None:
    async def work(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "4")
        assert "a allow it in this run" not in lines(pilot.app)[-1], "a key that does nothing on this row is not shown"
        for code in ("budget-never-allows", "budget-unhealthy"):
            screen._page_widget(screen.page).table.go_to(code)
            await press(pilot, "a")
            assert "no flag allows this" in list(pilot.app._notifications)[-1].message, code
            await press(pilot, "space")
        screen._page_widget(screen.page).table.go_to("pod-emptydir")
        await pilot.pause()
        assert "a allows it in this run" in page_text(pilot) and "a allow it in this run" in lines(pilot.app)[-1]
        await press(pilot, "a")
        assert screen.model.choice.plan_input.policy.delete_emptydir_data
        assert "ALLOWS emptyDir data" in page_text(pilot) and "Plan 6 of 8 marked" in page_text(pilot)
        view = screen.model.view
        assert view is not None and view.options["delete-emptydir-data"] is True
        table = screen._page_widget(screen.page).table
        table.go_to(
            next(row.key for row in budgets.blocker_rows(view) if row.groups[0].first.code.name == "pod-emptydir")
        )
        await press(pilot, "a")
        assert not screen.model.choice.plan_input.policy.delete_emptydir_data and "ALLOWS" not in page_text(pilot)

    drive(work)


def test_what_a_flag_allows_is_named_before_a_run_is_confirmed() -> None:
    policy = DrainPolicy(delete_emptydir_data=True, force=True)
    view = DrainView(build_plan(CLUSTER, BLUE, policy), CLUSTER)
    prepared = PreparedRun(RunKind.DRAIN, "demo-shop", ("blue-1",), ("demo-shop 1",), lambda: ScriptedLive(), view=view)
    told = "\n".join(line if isinstance(line, str) else line[0] for line in confirm.confirm_lines(prepared))
    assert "the data is lost (--delete-emptydir-data):\n  Deployment kube-system/metrics-server" in told
    assert "(--force):\n  Pod ops/debug-shell" in told and "--evict-protected" not in told
