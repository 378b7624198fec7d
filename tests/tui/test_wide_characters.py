"""Characters that take two columns: with Korean text, table columns and frames stay at the same positions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.tui.opening import Progress
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.tables.pods import cell_width, pad, wrap_cells
from tests.tui.pilots import NARROW, WIDE, Drives, a_demo, drive, press, read_demo

GROUP = "결제-서비스-노드그룹"


def korean(progress: Progress) -> Cluster:
    """The built-in cluster with Korean names of the cluster, node groups, instance types and pod owners."""
    cluster = read_demo(progress)
    nodes = []
    for at, node in enumerate(cluster.nodes):
        labels = {**node.labels, "node.kubernetes.io/instance-type": "중형" if at % 2 else "m6i.xlarge"}
        if node.group == "blue" and at % 3:
            labels["eks.amazonaws.com/nodegroup"] = GROUP
        nodes.append(replace(node, labels=labels))
    workloads = tuple(
        replace(each, owner=replace(each.owner, name=f"작업-{each.owner.name}") if each.owner else None)
        for each in cluster.workloads
    )
    pods = tuple(
        replace(pod, not_ready_because="이미지를 못 받음", ready=not at % 5) for at, pod in enumerate(cluster.pods)
    )
    identity = replace(cluster.identity, context="운영-클러스터", cluster="쇼핑몰-운영")
    return replace(cluster, nodes=tuple(nodes), workloads=workloads, pods=pods, identity=identity)


def drawn(pilot: Drives) -> list[str]:
    """The screen's lines, each as wide as the screen."""
    strips = pilot.app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


def column_of(line: str, word: str) -> int:
    """The terminal column where `word` starts."""
    return cell_len(line[: line.index(word)])


@pytest.mark.long
@pytest.mark.parametrize(
    ("size", "ascii"),
    [
        pytest.param(WIDE, True, id="wide-ascii"),
        pytest.param(NARROW, False, id="narrow"),
    ],
)
def test_every_line_is_as_wide_as_the_screen_and_frames_stand_in_a_row(size: tuple[int, int], ascii: bool) -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        visits = (("1",), ("enter",), ("escape", "2"), ("enter",), ("3",), ("4",), ("equals_sign",), ("1", "ctrl+w"))
        for keys in (*visits, ("l", "l", "l"), ("slash", *GROUP, "enter")):
            await press(pilot, *keys)
            pilot.app.clear_notifications()
            await pilot.pause()
            for line in drawn(pilot):
                assert cell_len(line) == size[0], line
                assert not ascii or line.isascii()
                if line.startswith(("│", "|")):
                    assert line.rstrip()[-1] in "│|▄▅▆▇▃▂▁█┃", line

    drive(look, a_demo(korean, ascii=ascii), size=size)


@pytest.mark.long
def test_what_stands_behind_a_wide_cell_is_below_its_title() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        every = drawn(pilot)
        head = next(line for line in every if "KUBELET" in line)
        rows = [line for line in every if "v1.3" in line and "│" in line]
        assert len(rows) == 15 and any(GROUP in line for line in rows), "a group's name is not cut"
        at = column_of(head, "KUBELET")
        assert {column_of(line, "v1.3") for line in rows} == {at}

    drive(look, a_demo(korean), size=(150, 36))


@given(st.text(st.sampled_from("ab 가나다漢字"), max_size=60), st.integers(2, 30))
def test_text_is_wrapped_to_its_room_and_nothing_is_lost(text: str, room: int) -> None:
    lines = wrap_cells(text, room)
    assert all(cell_width(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert cell_width(pad(text, room)) == max(cell_width(text), room)
