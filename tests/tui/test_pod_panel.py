"""Key d on a pod: a side panel with the cluster's current data on the pod."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kubectl_eksdoc.drain.report.pod import pod_lines
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.interruption import KubernetesEvent, PodReport
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Container, ContainerRunState, LogKey
from kubectl_eksdoc.tui.details import PodPanel
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.tui.live_clusters import LiveCluster
from tests.tui.pilots import NOW, Drives, drive, lines, notes_of, page_text, press

ABOUT = Subject("Pod", "web-0", "shop")
FULL = PodReport(
    "shop/web-0",
    (
        Container(
            "app", "shop/web:2", runs=ContainerRunState.WAITING, ended_before=True, ended_as="OOMKilled", restarts=4
        ),
        Container("fetch", runs=ContainerRunState.ENDED, init=True),
    ),
    (KubernetesEvent(NOW - timedelta(minutes=3), "BackOff", ABOUT, "restarting", warning=True, count=9),),
    {LogKey("shop", "web-0", "app"): "ready\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n"},
)


def said(report: PodReport, logs_first: bool = False) -> str:
    return "\n".join(line if isinstance(line, str) else line[0] for line in pod_lines(report, NOW, logs_first))


def test_containers_events_and_logs_are_told_and_keys_are_not() -> None:
    told = said(FULL)
    assert "! app: waiting, not ready" in told and "4, last ended as OOMKilled" in told
    assert "✓ init fetch: ended" in told
    assert "  3m  BackOff x9: restarting" in told
    assert "ready" in told and "wJalr" not in told
    assert said(FULL, logs_first=True).startswith("Log of app, the last 2 lines")


def test_what_is_not_had_is_unknown_and_what_is_gone_is_gone() -> None:
    told = said(PodReport("shop/web-0", Unknown("forbidden", "get pods"), Unknown("no answer"), {}))
    assert "? containers unknown: forbidden (missing permission: get pods)" in told
    assert "? events unknown: no answer" in told and "no container is known" in told
    assert "! containers: pods web-0 not found" in said(PodReport("a/b", Absent("pods web-0 not found"), ()))


@pytest.mark.parametrize("size", [(120, 36), pytest.param((60, 20), marks=pytest.mark.long)])
def test_it_lies_beside_the_pods_and_reads_again(size: tuple[int, int]) -> None:
    cluster = LiveCluster(report=FULL)

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "j", "enter", "d")
        assert isinstance(pilot.app.screen, PodPanel)
        await pilot.pause(0.05)
        seen = lines(pilot.app)
        assert any("app: waiting, not ready" in line for line in seen), "\n".join(seen)
        assert size[0] < 100 or any("POD" in line for line in seen)
        await press(pilot, "l", "ctrl+r")
        await pilot.pause(0.05)
        assert any("Log of app" in line for line in lines(pilot.app)[:4])
        await press(pilot, "escape")
        assert pilot.app.screen is screen

    drive(look, cluster.opening(), size=size)
    assert len(cluster.asked_pods) == 2 and cluster.asked_pods[0] == cluster.asked_pods[1]
    assert "/" in cluster.asked_pods[0]


def test_a_cluster_that_does_not_answer_is_told() -> None:
    cluster = LiveCluster(report=ClusterError("nobody answers", "try again"))

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "enter", "d")
        await pilot.pause(0.05)
        assert "✗ nobody answers" in page_text(pilot)

    drive(look, cluster.opening())


def test_the_demo_says_that_it_knows_no_more() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "enter", "d")
        assert pilot.app.screen is screen
        assert notes_of(pilot)[-1].startswith("d: a dump and the demo say no more")

    drive(look)
