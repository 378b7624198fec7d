"""Ask whoever leads a run for something, and wait until it is so; who has gone does not answer, and its lock tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from kubectl_eksdoc.core.model.journal import Phase, RunSummary
from kubectl_eksdoc.core.model.locks import Held
from kubectl_eksdoc.flows.ports import Runs

ANSWERS_S = 90.0
"""Longer than a lock is held that nobody renews."""

LOOK_S = 1.0

_REACHED: Mapping[Phase, tuple[Phase, ...]] = {
    Phase.PAUSED: (Phase.PAUSED, Phase.ABORTED, Phase.ENDED),
    Phase.RUNNING: (Phase.RUNNING,),
    Phase.ABORTED: (Phase.ABORTED, Phase.ENDED),  # what it has asked for may take long to settle
}
"""Of what is asked for, where the run stands when that is heard."""


class Heard(Enum):
    SO = "so"  # it is as was asked
    NOBODY = "nobody"  # nobody leads it, so that nothing is done
    SILENT = "silent"  # somebody renews the lock, and does not do what was asked


def ask_leader(runs: Runs, run: RunSummary, wanted: Phase, who: str, sleep: Callable[[float], object]) -> Heard:
    """
    Raises:
        as `Runs`.
    """
    before = runs.lock()
    runs.ask(run.run, wanted, who)
    for _ in range(round(ANSWERS_S / LOOK_S)):
        held = runs.lock()
        there = next((each for each in runs.all() if each.run == run.run), None)
        led, stands = there is not None and leads(held, there), _stands(there)
        if stands in _REACHED[wanted] and (stands.value != run.phase or (led and _is_alive(before, held))):
            return Heard.SO
        if not led:
            return Heard.NOBODY
        sleep(LOOK_S)
    return Heard.SILENT


def _is_alive(before: Held, now: Held) -> bool:
    """A run that stood so before it was asked says nothing by standing so: its leader may have gone."""
    return now.renewed != before.renewed


def leads(held: Held, run: RunSummary) -> bool:
    """Whether who holds the lock leads this very run, and not another one."""
    return held.led and held.holder == run.leader


def _stands(run: RunSummary | None) -> Phase:
    """A word of a newer version is taken for one that is under way."""
    found = run.phase if run is not None else Phase.ENDED.value
    return Phase(found) if found in {each.value for each in Phase} else Phase.RUNNING
