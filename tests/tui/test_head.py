"""The head lines: the most important facts are visible on every terminal; badges show the cluster and the user's
permissions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Identity
from kubectl_eksdoc.model.journal import RunSummary
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.report.identity import is_production
from kubectl_eksdoc.report.text import Appearance
from kubectl_eksdoc.tui.model import Model, ScreenFacts, ScreenReads
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.tables.nodes import node_facts
from kubectl_eksdoc.tui.words import (
    PRODUCTION_BADGE,
    READ_ONLY_UNTIL_RUN,
    FittingText,
    droppable,
    fit_parts,
    identity_texts,
    rights_text,
)
from tests.tui.live_clusters import DEMO, LiveCluster
from tests.tui.pilots import NOW, Drives, a_demo, drive, lines, page_text, planned, press
from tests.tui.run.scripted import ScriptedDesk
from tests.tui.test_live import until

LOOK = Appearance()
PIECES = (
    FittingText("Plan 5 of 8", ((1, "5 of 8"),)),
    droppable("1 wave", 3),
    FittingText("about 2m16s"),
    droppable("grace", 4),
)


@pytest.mark.parametrize(
    ("room", "line"),
    [
        (40, "Plan 5 of 8  1 wave  about 2m16s  grace"),
        (38, "Plan 5 of 8  1 wave  about 2m16s"),
        (30, "Plan 5 of 8  about 2m16s"),
        (20, "5 of 8  about 2m16s"),
    ],
)
def test_what_matters_least_goes_first(room: int, line: str) -> None:
    assert "  ".join(piece.text for piece in fit_parts(PIECES, room, "  ", LOOK)) == line


@given(st.text("ab1-", min_size=30, max_size=90), st.integers(40, 90))
def test_a_long_name_is_cut_in_its_middle_and_never_what_stands_behind_it(name: str, room: int) -> None:
    first, age = fit_parts((FittingText(name), FittingText("live, read 2s ago")), room, "  ", LOOK)
    assert age.text == "live, read 2s ago" and len(first.text) + len(age.text) + 2 <= room


@pytest.mark.parametrize(
    ("pattern", "context", "cluster", "is_it"),
    [
        ("prod", "arn:aws:eks:eu-west-1:1:cluster/shop", "shop-PROD", True),
        ("^prod|live", "prod-eu", "", True),
        ("prod", "test", "shop", False),
        ("", "prod", "prod", False),
        (".", "", "", False),
    ],
)
def test_production_is_what_is_called_so(pattern: str, context: str, cluster: str, is_it: bool) -> None:
    assert is_production(Identity(context, cluster), pattern) is is_it


def test_badges_say_that_it_is_production_and_what_a_run_may_not_do() -> None:
    opening: Any = replace(LiveCluster().opening(), production_pattern="blue|shop", read_only_reason="why")

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        assert lines(pilot.app)[0].split()[:3] == ["eksdoc", "PRODUCTION", "READ-ONLY"]
        screen._opening = replace(opening, read_only_reason="")
        screen.model = replace(screen.model, denied=None)
        screen.show_identity()
        await pilot.pause()
        assert "RBAC" not in lines(pilot.app)[0], "no request was sent"
        for denied, said in (
            ((), "RBAC ✓"),
            ((Permission("create", kinds.PODS, "eviction"),), "✗ 1 right missing (!)"),
        ):
            screen.update_rights(denied)
            await until(pilot, lambda said=said: said in lines(pilot.app)[0])

    drive(look, opening)


@pytest.mark.parametrize(("room", "kept"), [(106, "v1.33.4  eu-west-1"), (102, "v1.33  eu-west-1"), (86, " v1.33 ")])
def test_badges_are_longer_seen_than_the_build_of_the_server(room: int, kept: str) -> None:
    who = Identity("prod", "prod-eu1", server_version="v1.33.4-eks-1b3e656", region="eu-west-1")
    reads = ScreenReads(live=True, completed_at=NOW)
    cluster = replace(DEMO, identity=who)
    model = Model(ScreenFacts(cluster, node_facts(cluster)), reads=reads)
    parts = identity_texts(model, NOW, (PRODUCTION_BADGE, rights_text(()), READ_ONLY_UNTIL_RUN))
    said = "  ".join(f" {each.text} " if each.badge else each.text for each in fit_parts(parts, room, "  ", LOOK))
    assert " PRODUCTION   RBAC ✓  " in said and kept in said and len(said) <= room, said


def test_a_run_that_is_not_over_is_in_the_head_until_it_is_or_is_dismissed() -> None:
    left = RunSummary("r1", NOW, "PAUSED", "ann@laptop", NOW, "3 of 5 nodes drained")
    desk = ScriptedDesk(runs=(left, replace(left, run="r2")))
    badge = "UNFINISHED RUN (5"

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await until(pilot, lambda: badge in lines(pilot.app)[0])
        pilot.app.clear_notifications()
        await press(pilot, "5")
        await until(pilot, lambda: "r2" in page_text(pilot))
        await press(pilot, "x")
        await pilot.pause()
        assert badge in lines(pilot.app)[0], "there is another one"
        desk._runs = (left,)  # the other run ended on another machine
        await pilot.press("ctrl+r")
        await until(pilot, lambda: badge not in lines(pilot.app)[0])

    drive(look, replace(LiveCluster().opening(), run_controller=desk))


def test_the_demo_that_is_served_does_not_say_that_it_is_live() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        assert screen.model.facts is not None and "demo cluster, fixed at 2026-11-20T08:51:00Z" in lines(pilot.app)[0]
        now = screen.model.facts.cluster.observed_at + timedelta(1)
        served = replace(screen.model.facts.cluster, observed_at=now)
        screen.update_facts(replace(screen.model.facts, cluster=served), differs=True)
        screen.model = replace(screen.model, reads=replace(screen.model.reads, completed_at=now))
        screen.show_identity()
        await planned(pilot)
        head = lines(pilot.app)[0]
        assert "demo cluster, read at 2026-11-21T08:51:00Z" in head and "live" not in head

    drive(look, a_demo())
