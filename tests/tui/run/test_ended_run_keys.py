"""Keys that are available after a run has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.pilots import NARROW, main_screen
from tests.tui.run.scripted import RUN, ScriptedLive
from tests.tui.run.stage import Show, play_run


def test_after_a_run_the_next_group_is_marked_and_the_check_is_copied() -> None:
    async def then(show: Show) -> None:
        await show.press("N")
        assert show.told[-1].startswith("N: first this run has to end")
        live = show.desk.begun[-1]
        live.ends()
        await show.looks()
        await show.press("c")
        assert show.told[-1] == "copied: kubectl eksdoc check --demo"
        await show.press("N")
        assert show.top == "PlanScreen"
        assert "has an older kubelet" in show.told[-1] or "is marked" in show.told[-1]

    play_run(then)


def test_a_report_is_saved_as_html_once_it_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    live = ScriptedLive()

    async def keep(show: Show) -> None:
        live.to(20)
        await show.looks()
        await show.press("H")
        assert "H: it is not over yet" in show.told and not list(tmp_path.iterdir())
        live.ends()
        await show.looks()
        await show.press("H")
        text = (tmp_path / f"drain-{RUN}.html").read_text(encoding="utf-8")
        assert text.startswith("<!DOCTYPE html>") and "as planned (p50)" in text and "blue-1" in text

    play_run(keep, live)


def test_the_number_of_a_page_leads_from_the_run_to_that_page() -> None:
    async def look(show: Show) -> None:
        for key in ("4", "1", "3", "2"):
            await show.press(key)
            assert show.stack == ["PlanScreen"] and main_screen(show.app).page.value == key
            await show.press("5")
            assert show.top == "RunScreen"

    play_run(look)


@pytest.mark.parametrize("size", [NARROW, (60, 20)])
def test_on_a_narrow_screen_the_summary_is_read_beside_the_pods_of_a_node(size: tuple[int, int]) -> None:
    """The pods fill the screen: they take the place of the nodes, which leave no gap."""

    async def look(show: Show) -> None:
        show.desk.begun[-1].ends()
        await show.looks()
        await show.press("enter")
        screen = show.app.screen
        summary, pods = screen.query_one("#run-why"), screen.query_one("#run-pods")
        assert summary.content_size.height >= 4 and pods.content_size.height >= 3
        assert summary.region.bottom == screen.query_one("#run-top").region.bottom, "there is no gap below"

    play_run(look, size=size)


# Enter in the log of a run shows an entry in full, and does nothing else.


WHY = "Cannot evict pod as it would violate the pod's disruption budget: [bold]web[/] needs \x1b[2J three " * 3
