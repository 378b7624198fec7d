"""What can be done when a run is over, as keys."""

from __future__ import annotations

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
