"""Missing rights, an expired token, an unavailable server: clear messages, and no loss of data."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.requests import ADMIN, Action, RbacRule, ServedUser
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.drains.drainers import TOKEN, Served, our_words, ours, served
from tests.drains.secured import secured
from tests.drains.shapes import small
from tests.fakes import kubeconfigs
from tests.kube.live_backend.served_backends import serving_again


class Going:
    """A running command. `events`: the documents that it has printed so far. Mutable."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.events: list[Doc] = []

    def until(self, what: str, times: int = 1) -> None:
        """Wait until it has reported that so often."""
        for event in self._told():
            times -= event.get("what") == what
            if times <= 0:
                return
        raise AssertionError(f"it ended before: {self.events} {self.said}")

    def to_the_end(self, longest_s: float = 60.0) -> int:
        """Wait for its end and return its exit code."""
        list(self._told())
        self._listener.join(longest_s)
        return self._process.wait(longest_s)

    @property
    def said(self) -> str:
        """Its stderr, after its end."""
        return "".join(self._said)

    @property
    def answer(self) -> Doc:
        return self.events[-1]

    def _told(self) -> Iterator[Doc]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.events.append(json.loads(line))
            yield self.events[-1]

    def _listen(self) -> None:
        assert self._process.stderr is not None
        self._said += self._process.stderr


@contextlib.contextmanager
def going(words: Sequence[str], environ: Mapping[str, str]) -> Iterator[Going]:
    """Start a command that prints JSON lines (``-o json``); it is killed if it still runs when the block ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=environ, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield Going(process)
        finally:
            process.kill()


pytestmark = pytest.mark.long

SPEED = 3.0
AWAY_S = 40.0
"""More than `drain.run.answers.ERROR_PAUSE_S`, after which a run is held."""


def check(world: Served, run: Going) -> None:
    """Check that the result is the same as without a disturbance."""
    watched = world.watched
    assert run.to_the_end() == 0, run.said
    assert watched.empty() == world.shape.old_nodes and watched.pending == []
    assert len(watched.evicted) == world.shape.pods and watched.again == [] and watched.overdrawn == []
    (phase,) = {doc["data"]["phase"] for doc in journals(world.api) if "phase" in doc["data"]}
    assert phase == "ended"
    assert nested_field(lease(world.api), "spec", "leaseTransitions") in (None, 0, 1), "nobody else ever held it"


def journals(api: Api) -> list[Doc]:
    return api.run_locked(lambda plane: [item.doc for item in plane.store.list("configmaps")])


def lease(api: Api) -> Doc:
    def held(plane: ControlPlane) -> Doc:
        item = plane.store.get(kinds.LEASES.full_name, ("kube-system", "eksdoc-drain"))
        return {} if item is None else item.doc

    return api.run_locked(held)


def untouched(world: Served) -> None:
    assert world.watched.cordoned_s is None and not world.watched.evicted
    assert journals(world.api) == [] and lease(world.api) == {}


# Missing rights of a user


@frozen
class AllBut(RbacRule):
    """Grants all rights except these verbs on these resources."""

    def allows(self, action: Action) -> bool:
        named = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
        return not (action.verb in self.verbs and named in self.resources)


LACKING = [
    ("create", "leases"),
    ("patch", "nodes"),
    ("create", "pods/eviction"),
]


@pytest.mark.parametrize(("verb", "resource"), LACKING)
def test_a_right_that_is_missing_is_named_and_nothing_is_done(tmp_path: Path, verb: str, resource: str) -> None:
    user = ServedUser("half", (AllBut((verb,), (resource,)),))
    with served(small(), tmp_path / "home", SPEED, {TOKEN: user}) as world:
        drained = ours(world)
        assert drained.codes == (3,), drained.err
        assert f"error: the cluster does not let you: {verb} {resource}" in drained.err
        assert "Nothing was done." in drained.err and "It cannot do without these rights" in drained.err
        assert drained.out == ""
        untouched(world)


def test_the_right_to_evict_is_needed_where_the_pods_are(tmp_path: Path) -> None:
    """The right is needed in no other namespace."""
    here = RbacRule(("create",), ("pods/eviction",), ("",), namespaces=("default",))
    user = ServedUser("half", (AllBut(("create",), ("pods/eviction",)), here))
    with served(small(), tmp_path / "home", 10.0, {TOKEN: user}) as world:
        assert ours(world).codes == (0,)
        assert world.watched.empty() == world.shape.old_nodes


# A token that ends


PLUGIN = """
say(token=f"token-{runs()}")
"""


def test_a_token_that_ends_in_the_middle_is_made_anew(tmp_path: Path) -> None:
    """This happens twice; the server then accepts only newer tokens, and rejects requests with an older one."""
    users = {f"token-{number}": ADMIN for number in range(1, 100)}
    plugin = kubeconfigs.plugin(tmp_path, PLUGIN)
    with served(small(), tmp_path / "home", SPEED, users) as world, secured(world.counted) as (url, ca):
        config = kubeconfigs.one(tmp_path / "exec", url, ca, kubeconfigs.exec_user(plugin), "lab")
        words = [*our_words(world, None, "-o", "json"), "--kubeconfig", config]
        with going(words, world.environ) as run:
            made = 0
            for _ in range(2):
                # A token must not expire before the run has used it, and the run's events may be old.
                while kubeconfigs.runs(plugin) == made:
                    run.until("evicted")
                before = len(world.watched.evicted)
                while len(world.watched.evicted) < before + 3:
                    run.until("evicted")
                made = kubeconfigs.runs(plugin)
                for number in range(1, made + 1):
                    users.pop(f"token-{number}", None)
            check(world, run)
        assert kubeconfigs.runs(plugin) > made, "its tokens are not taken any more"
    told = [(event["what"], event["why"]) for event in run.events if event.get("what") in ("refused", "held")]
    assert told == []


# A server that is away


@pytest.mark.waits
def test_a_server_that_is_away_for_more_than_half_a_minute(tmp_path: Path) -> None:
    """It does not listen, and all connections break; its time passes meanwhile."""
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(served(small(), tmp_path / "home", SPEED))
        run = stack.enter_context(going(our_words(world, None, "-o", "json"), world.environ))
        run.until("evicted", 4)
        before = nested_field(lease(world.api), "spec", "holderIdentity")
        away_s, port = time.monotonic(), world.server.port
        world.server.shutdown()
        world.server.server_close()
        time.sleep(AWAY_S)
        stack.enter_context(serving_again(world.counted, port))
        run.until("evicted")
        assert before and nested_field(lease(world.api), "spec", "holderIdentity") == before
        check(world, run)
    held = [event for event in run.events if event.get("what") in ("held", "released")]
    # On a busy machine another guard may hold the run again, for example for pods that found no node in time.
    assert held[0]["what"] == "held" and held[-1]["what"] == "released", held
    assert "cannot be watched" in held[0]["why"], held
    assert time.monotonic() - away_s > AWAY_S


# A lock that another client takes


def test_what_was_done_is_told_when_the_lock_is_gone(tmp_path: Path) -> None:
    def gone(plane: ControlPlane) -> None:
        item = plane.store.get(kinds.LEASES.full_name, ("kube-system", "eksdoc-drain"))
        assert item is not None
        plane.store.remove(item)

    with served(small(), tmp_path / "home", SPEED) as world:
        with going(our_words(world, None, "-o", "json"), world.environ) as run:
            run.until("evicted", 4)
            world.api.run_locked(gone)
            assert run.to_the_end() == 6 and "drain resume" in run.said, run.said
        done = run.answer
        assert (done["kind"], done["outcome"]) == ("DrainRun", "stopped") and "eksdoc-drain" in done["stopped"]
        told = {event["subject"] for event in run.events[:-1] if event.get("what") == "evicted"}
        assert 4 <= len(told) == done["evictions"] < world.shape.pods
        assert done["notEmptied"] and done["next"], "what can be done now"


def test_a_right_without_which_something_is_unknown_is_not_asked_for(tmp_path: Path) -> None:
    user = ServedUser("half", (AllBut(("list",), ("horizontalpodautoscalers",)),))
    with served(small(), tmp_path / "home", 10.0, {TOKEN: user}) as world:
        drained = ours(world)
        assert "the cluster does not let you" not in drained.err
        assert world.watched.empty() == world.shape.old_nodes
