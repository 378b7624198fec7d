"""A run is killed after its last node is done: `drain resume` releases the protected nodes and writes the run's end."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.run.apply import RunEdges
from kubectl_eksdoc.drain.run.journals import RunJournal
from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, serving
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.journal import (
    IntentEntry,
    JournalEntry,
    NoteEntry,
    NoteKind,
    ResultEntry,
    RunPhase,
    RunStarted,
    Verb,
)
from kubectl_eksdoc.model.nodes import SCALE_DOWN_PROTECTIONS
from kubectl_eksdoc.simulator.control_plane import workload_controllers
from kubectl_eksdoc.wiring.runs import Hooks, JournalLocation
from tests.drain.command.served import Machine, machine, opened_fast
from tests.drain.command.test_run_controller import desk_of
from tests.drain.command.test_runs import agreed, valid
from tests.drain.fields import Killed
from tests.drain.stages import web
from tests.embedded.clients import worlds
from tests.embedded.clients.worlds import namespace
from tests.simulator.control_planes import a_node_doc

RUN = re.compile(r"run (\d{8}-\d{6}-[0-9a-f]{4})")


def done(entry: JournalEntry) -> bool:
    return isinstance(entry, NoteEntry) and entry.what is NoteKind.NODE_DONE


def releases(entry: JournalEntry) -> bool:
    return isinstance(entry, IntentEntry) and entry.verb is Verb.RELEASE


def ended(entry: JournalEntry) -> bool:
    return isinstance(entry, NoteEntry) and entry.what is NoteKind.ENDED


WRITINGS: Mapping[str, Callable[[JournalEntry], bool]] = {
    "done": done,
    "release": releases,
    "released": lambda entry: isinstance(entry, ResultEntry),
    "ended": ended,
}
"""Everything that is written once the last node is empty for good. The head of the run comes last."""


class Dying:
    """A journal whose owner is killed when it writes the entry that `at` names, once its node is done; `kept`: that
    entry is still written. `seen`: the entries since then."""

    def __init__(self, inner: RunJournal, at: str, *, kept: bool) -> None:
        self._inner = inner
        self._at = at
        self._kept = kept
        self.seen: list[str] = []

    @property
    def is_started(self) -> bool:
        return self._inner.is_started

    def start(self, begun: RunStarted) -> None:
        self._inner.start(begun)

    def write(self, entries: Sequence[JournalEntry]) -> None:
        if self.seen or any(done(each) or releases(each) for each in entries):
            found = [name for name, is_it in WRITINGS.items() if any(map(is_it, entries))]
            self._step(found, lambda: self._inner.write(entries))
        else:
            self._inner.write(entries)

    def report_progress(self, phase: RunPhase, message: str = "") -> None:
        self._step(["head"] if phase is RunPhase.ENDED else [], lambda: self._inner.report_progress(phase, message))

    def _step(self, writes: list[str], does: Callable[[], None]) -> None:
        self.seen += writes
        dies = self._at in writes
        if not dies or self._kept:
            does()
        if dies:
            raise Killed


@contextmanager
def opened_dying(
    at: str,
    kept: bool,
    made: list[Dying],
    connection: Connection,
    keeping: JournalLocation,
    wait_s: float,
    hooks: Hooks,
) -> Iterator[RunEdges]:
    with opened_fast(connection, keeping, wait_s, hooks) as world:
        made.append(Dying(world.journal, at, kept=kept))
        yield replace(world, journal=made[-1])  # type: ignore[arg-type]


def protected(api: Api) -> set[str]:
    """The nodes that carry a protection, or that carry annotations of a run without being cordoned."""

    def found(plane) -> set[str]:  # type: ignore[no-untyped-def]
        carried = {*SCALE_DOWN_PROTECTIONS, "eksdoc.io/run"}
        nodes = [item for item in plane.store.list("nodes") if not item.doc["spec"].get("unschedulable")]
        return {item.key[1] for item in nodes if carried & set(item.doc["metadata"].get("annotations") or ())}

    return api.run_locked(found)


def killed(one: Machine, at: str, kept: bool) -> list[str]:
    made: list[Dying] = []
    words = agreed(one)
    assert words[-1] == "1", "the last node that is done is the first one"
    one.opens_run = partial(opened_dying, at, kept, made)
    if at:
        with pytest.raises(Killed):
            one.run("drain", "run", *words)
    else:
        one.run("drain", "run", *words)
    one.opens_run = opened_fast
    return made[0].seen


@contextmanager
def two(folder: Path) -> Iterator[tuple[Api, Machine, Machine]]:
    plane = load_documents(
        [*web(1, 1), a_node_doc("new-0"), *map(namespace, ("default", "kube-system"))], worlds.START, 7
    ).plane
    plane.start(worlds.QUICK, workload_controllers)
    api = Api(plane, worlds.SETUP, ScaledTime(time.monotonic, worlds.SPEED))
    with serving(api) as server:
        yield api, machine(server, folder / "ann"), machine(server, folder / "ben")


@pytest.mark.long
def test_everything_that_is_written_after_the_last_node_is_done_is_known(tmp_path: Path) -> None:
    with two(tmp_path) as (api, one, _):
        assert set(killed(one, "", True)) == {*WRITINGS, "head"}
        assert protected(api) == set()


@pytest.mark.long
def test_a_rollback_counts_what_the_plan_of_the_run_counted(tmp_path: Path) -> None:
    """It does not count the protected nodes."""
    with two(tmp_path) as (api, one, other):
        killed(one, "release", False)  # the release may be written, and done, before the note that the node is done
        assert protected(api) == {"new-0"}
        run = RUN.findall(one.err.getvalue())[0]
        assert "--yes --expect-nodes 1)" in other.run("drain", "status", run).out
        ran = other.run("drain", "rollback", run, "--yes", "--expect-nodes", "2")
        assert ran.code == 7 and "this would give back 1 node\n" in ran.err, ran.err
        assert f"run {run} changed new-0, old-0; its plan drains 1 node" in ran.err
        dry = other.run("drain", "rollback", run, "--dry-run")
        assert dry.out == "old-0 would be as it was before\nnew-0 would not be protected from autoscalers any more\n"
        assert dry.code == 0 and protected(api) == {"new-0"}, dry.err
        ran = other.run("drain", "rollback", run, "--yes", "--expect-nodes", "1")
        assert ran.code == 0 and protected(api) == set(), ran.err


QUICK = ("done", True)
EVERY = [*product((*WRITINGS, "head"), (True, False))]


@pytest.mark.parametrize(
    ("at", "kept"), [pytest.param(*each, marks=[pytest.mark.long] * (each != QUICK)) for each in EVERY]
)
def test_killed_at_any_writing_after_that_it_is_finished_by_resume(tmp_path: Path, at: str, kept: bool) -> None:
    with two(tmp_path) as (api, one, other):
        killed(one, at, kept)
        run = RUN.findall(one.err.getvalue())[0]
        named = (run,) if (at, kept) == ("head", True) else ()  # otherwise this run is the unfinished one
        ran = other.goes_on(*named, "--yes", "--expect-nodes", "1")
        assert ran.code == 0, ran.err
        assert protected(api) == set()
        again = other.run("drain", "resume", run)
        assert again.code == 0 and again.out == f"nothing is left of run {run}: every node of it is done or gone\n"
        with pytest.raises(UsageError, match=f"nothing is left of run {run}"):
            desk_of(other).prepare_resume(run)
        status = other.run("drain", "status", run, "-o", "json")
        doc = json.loads(status.out)
        assert valid(doc) == "DrainRunStatus" and doc["run"]["ended"] == "done"
        assert other.run("drain", "run", "--nodegroup", "blue", "--dry-run").code in (0, 1, 5), "none is in its way"
