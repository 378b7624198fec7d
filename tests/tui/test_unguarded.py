"""Workloads without a budget: how many of their pods are evicted at once, and proposed budgets."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.selectors import NOTHING
from kubectl_eksdoc.tui.keymap import ScreenPage
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.tables import budgets as unguarded
from kubectl_eksdoc.tui.tables.pods import text_of_cell
from tests.tui.live_clusters import DEMO, LiveCluster
from tests.tui.pilots import drive, page_text, planned
from tests.tui.test_live import Drives
from tests.tui.test_offline import said
from tests.tui.test_rights import without
from tests.yaml_reader import yaml_documents

BARE = replace(DEMO, budgets=())


def view_of(cluster: Cluster) -> DrainView:
    nodes = [node for node in cluster.nodes if node.group == "blue"]
    return DrainView(build_plan(cluster, nodes, DrainPolicy()), cluster)


VIEW = view_of(BARE)
FOUND = unguarded.unguarded_workloads(VIEW)


def test_every_pod_that_goes_without_a_budget_is_counted_once() -> None:
    going = [each for each in VIEW.plan.evictions if not each.budget and VIEW.app(each.pod)]
    jobs = [each for each in going if VIEW.app(each.pod).startswith("Job/")]
    assert FOUND and sum(each.evicted for each in FOUND) == len(going) - len(jobs)
    for each in FOUND:
        own = [e for e in going if (e.pod.namespace, VIEW.app(e.pod)) == (each.namespace, f"{each.kind}/{each.name}")]
        assert each.at_once == max(Counter(e.round for e in own).values()) <= each.evicted


def test_the_worst_comes_first_and_says_so_in_words() -> None:
    sheet = unguarded.unguarded_sheet(FOUND)
    told = [text_of_cell(sheet.cells(key)[-1]) for key in sheet.keys]
    assert told == sorted(told, key=lambda text: "✗!?·".index(text[0]) if text[0] != "?" else 2)
    assert any(text.startswith("✗ all of it goes at once") for text in told)


def test_what_is_guarded_is_not_among_them() -> None:
    assert {each.key for each in unguarded.unguarded_workloads(view_of(DEMO))} < {each.key for each in FOUND}


def test_a_budget_is_begun_only_where_it_guards_this_workload_alone() -> None:
    begun = unguarded.workloads_to_guard(VIEW)
    assert begun and all(each.replicas > 1 and each.selector.matches(each.template_labels) for each in begun)
    first = begun[0]
    twin = replace(first, name="twin", uid="twin")
    for changed in (
        (*BARE.workloads, twin),
        tuple(replace(each, selector=NOTHING) if each.uid == first.uid else each for each in BARE.workloads),
    ):
        view = view_of(replace(BARE, workloads=changed))
        assert first.key not in {each.key for each in unguarded.workloads_to_guard(view)}


def test_budgets_that_could_not_be_read_are_not_called_absent() -> None:
    view = view_of(without(DEMO, kinds.BUDGETS))
    told = unguarded.unguarded_lines(view)
    assert told[0][0].startswith("? Budgets could not be read")


@pytest.mark.long
def test_the_page_of_budgets_shows_them_where_there_is_no_budget() -> None:
    cluster = LiveCluster([BARE], targeting=Targeting(nodegroups=("blue",)))

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await pilot.press("2")
        await planned(pilot)
        text = page_text(pilot)
        assert "No budget counts these" in text and "There is no PodDisruptionBudget in this cluster" in text
        await pilot.press("j", "y")
        budgets = yaml_documents(pilot.app.clipboard)
        assert {each["kind"] for each in budgets} == {"PodDisruptionBudget"}
        assert said(pilot).startswith("copied: as YAML, for kubectl apply -f")
        await pilot.press("m", "1", "m", "n", "2", "y")
        assert screen.page is ScreenPage.HEADROOM and "nothing to copy" in said(pilot)

    drive(look, cluster.opening())
