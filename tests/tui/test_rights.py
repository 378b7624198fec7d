"""Kinds that the user may not read: the screen names them, the facts that stay unknown, and the roles that grant
access."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.cli import rights as of_commands
from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.kinds import KindRead, ReadState, Resource
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.tui.rights import RightsScreen
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.tables import budgets
from kubectl_eksdoc.tui.tables.pods import text_of_cell
from tests.tui.live_clusters import DEMO, LiveCluster
from tests.tui.pilots import drive, lines, page_text
from tests.tui.test_live import Drives, until
from tests.tui.test_offline import said
from tests.yaml_reader import yaml_documents

NEEDS = of_commands.plan_permissions("kube-system")
EVICT = Permission("create", kinds.PODS, "eviction")


def without(cluster: Cluster, *resources: Resource, state: ReadState = ReadState.FORBIDDEN) -> Cluster:
    """A cluster without these kinds, in the form that a reader reports."""
    reads = tuple(
        KindRead(read.resource, state, 0, f"missing right: list {read.resource.full_name} in all namespaces")
        if read.resource in resources
        else read
        for read in cluster.reads
    )
    return replace(cluster, reads=reads, budgets=() if kinds.BUDGETS in resources else cluster.budgets)


HIDDEN = without(DEMO, kinds.BUDGETS, kinds.LEASES)


def first_column(cluster: Cluster, denied: budgets.DeniedRights) -> list[str]:
    sheet = budgets.rights_sheet(cluster, NEEDS, denied)
    return [" ".join(text_of_cell(cell) for cell in sheet.cells(key)[:2]) for key in sheet.keys]


def test_what_is_missing_comes_first_and_what_was_not_asked_is_not_called_allowed() -> None:
    assert first_column(HIDDEN, None)[:3] == [
        "✗ list poddisruptionbudgets.policy",
        "✗ list leases.coordination.k8s.io",
        "✓ list nodes",
    ]
    assert "· create pods/eviction" in first_column(HIDDEN, None)
    assert first_column(DEMO, [EVICT])[0] == "✗ create pods/eviction"
    assert "✓ patch nodes" in first_column(DEMO, [EVICT])


def test_only_what_a_right_would_bring_is_missing() -> None:
    not_served = without(DEMO, kinds.AUTOSCALERS, state=ReadState.NOT_SERVED)
    assert budgets.missing_rights(not_served, NEEDS, None) == ()
    assert budgets.missing_rights(HIDDEN, NEEDS, [EVICT]) == (
        Permission("list", kinds.BUDGETS),
        Permission("list", kinds.LEASES),
        EVICT,
    )


@pytest.mark.long
def test_unknown_counts_as_blocked_and_the_missing_roles_are_copied() -> None:
    cluster = LiveCluster([HIDDEN], targeting=Targeting(nodegroups=("blue",)), denied=(EVICT,))

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        assert "! 2 kinds hidden" in lines(pilot.app)[0]
        assert screen.model.view is not None and not screen.model.view.wave_of, "nothing is drained past the unknown"
        await pilot.press("exclamation_mark")
        shown = pilot.app.screen
        assert isinstance(shown, RightsScreen)
        await until(pilot, lambda: shown.denied == (EVICT,))
        text = page_text(pilot)
        assert "never as absent" in text and "cannot be judged" in text
        await pilot.press("y")
        (role,) = yaml_documents(pilot.app.clipboard)
        assert role["kind"] == "ClusterRole" and {"create"} in [set(rule["verbs"]) for rule in role["rules"]]
        await pilot.press("escape")
        assert pilot.app.screen is screen

    drive(look, cluster.opening())


@pytest.mark.long
def test_what_is_allowed_meanwhile_is_seen_when_it_is_checked_again() -> None:
    cluster = LiveCluster([HIDDEN, DEMO])

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await pilot.press("exclamation_mark", "t")
        await until(pilot, lambda: "All that a plan rests on was read" in page_text(pilot))
        await pilot.press("y")
        assert "no right is missing" in said(pilot)

    drive(look, cluster.opening())
