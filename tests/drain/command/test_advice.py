"""The advice in an error message of a run works: it never proposes to resume a run that did not start or that cannot be
read from this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import Fault, FaultyAnswer, FaultyHandler, WatchCut, forbidden_for
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.embedded.serving.requests import ServedRequest
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus
from kubectl_eksdoc.wiring import runs
from tests.drain.command.served import Machine, cordoned, machine
from tests.drain.command.test_runs import agreed, stopped_early


def no_folder(tmp_path: Path) -> str:
    path = tmp_path / "a-file"
    path.write_text("", encoding="utf-8")
    return str(path)


def test_a_run_that_was_not_begun_is_not_to_be_resumed(api: Api, one: Machine, tmp_path: Path) -> None:
    before = cordoned(api)
    ran = one.run("drain", "run", *agreed(one), XDG_STATE_HOME=no_folder(tmp_path))
    assert ran.code == 6 and "cannot be opened" in ran.err, ran.err
    assert "Nothing was changed: fix that, and run it again." in ran.err and "drain resume" not in ran.err
    assert cordoned(api) == before and "No run is kept" in one.run("drain", "status").out


@pytest.mark.long
def test_who_rolls_back_goes_on_rolling_back(one: Machine, tmp_path: Path) -> None:
    """The same holds for a user who resumes: the advice is to resume."""
    stopped_early(one)
    resumed = one.run("drain", "resume", "--yes", "--expect-nodes", "1", XDG_STATE_HOME=no_folder(tmp_path))
    assert resumed.code == 6 and "XDG_STATE_HOME set to another folder, go on: kubectl" in resumed.err, resumed.err
    asked = one.run("drain", "rollback", "--yes", "--expect-nodes", "99").err
    count = asked.rpartition("give back ")[2].split()[0]
    words = ("drain", "rollback", "--yes", "--expect-nodes", count)
    refused = one.run(*words, XDG_STATE_HOME=no_folder(tmp_path))
    assert refused.code == 6 and "go on: kubectl eksdoc drain rollback" in refused.err, refused.err
    assert one.run(*words, XDG_STATE_HOME=str(tmp_path / "state")).code == 0


RUN = ("drain", "run", "--nodegroup", "blue", "--yes", "--expect-nodes", "1")
Refusing = FaultyAnswer | Callable[[ServedRequest], FaultyAnswer | None]
WHO = FaultyAnswer(ApiStatus(401, "Unauthorized", "Unauthorized"))
MAY = pytest.param(forbidden_for(), id="403", marks=pytest.mark.long)


@pytest.mark.long
@pytest.mark.parametrize("effect", [pytest.param(WHO, id="401"), MAY])
def test_one_refusal_of_a_journal_entry_does_not_end_a_run(effect: Refusing, api: Api, tmp_path: Path) -> None:
    with serving(FaultyHandler(api, [Fault(effect, "/configmaps/", "PATCH", skip=4, times=1)], time.sleep)) as server:
        ran = machine(server, tmp_path / "ann").run(*RUN)
    assert ran.code == 1 and "emptied by 16 evictions" in ran.out, ran.err


@pytest.mark.long
def test_who_may_not_go_on_is_told_how_to_once_it_is_mended(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run stopped halfway because of a missing right."""
    monkeypatch.setattr(runs, "REFUSED_S", 0.0)
    gone = Fault(forbidden_for("configmaps"), method="PATCH", skip=4)
    with serving(FaultyHandler(api, [gone], time.sleep)) as server:
        ran = machine(server, tmp_path / "ben").run(
            "drain", "run", "--nodegroup", "blue", "--yes", "--expect-nodes", "1"
        )
    assert ran.code == 6
    assert "cannot patch" in ran.err and "Go on: kubectl eksdoc drain resume 2" in ran.err, ran.err


@pytest.mark.long
@pytest.mark.parametrize("effect", [pytest.param(WHO, id="401"), MAY])
def test_a_watch_that_is_refused_for_a_while_does_not_end_a_run(effect: Refusing, api: Api, tmp_path: Path) -> None:
    begun_s: list[float] = []

    def for_a_while(request: ServedRequest) -> FaultyAnswer | None:
        if not begun_s and cordoned(api):
            begun_s.append(time.monotonic())
        if not begun_s or time.monotonic() - begun_s[0] > 0.5:
            return None
        return effect(request) if callable(effect) else effect

    cut = Fault(WatchCut(1), watches=True)
    refused = Fault(for_a_while, r"/(pods|nodes|poddisruptionbudgets)$", "GET")
    with serving(FaultyHandler(api, [refused, cut], time.sleep)) as server:
        ran = machine(server, tmp_path / "ann").run(*RUN)
    assert ran.code == 1 and "emptied by 16 evictions" in ran.out, ran.err
