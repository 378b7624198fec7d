"""Drain commands that change something, with exactly the role that ``permissions`` prints for each, and without each
single right: the runs of a drain, on a served cluster with its controllers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, serving
from kubectl_eksdoc.embedded.serving.requests import ServedUser, TokenUsers
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.cli.running import Ran
from tests.drain.command import test_eviction_methods
from tests.drain.command.served import EVICTED, Machine, machine
from tests.drain.singles import single
from tests.embedded.clients import worlds
from tests.examples import one_in
from tests.permissions.command.answers import BUG
from tests.permissions.command.granted_users import Held, Watched, printed, unregistered
from tests.permissions.command.test_reading import required

ADMIN = (Held("*", "*", "*"),)
BLUE = ("--nodegroup", "blue", "--yes", "--expect-nodes", "1")


@dataclass
class Shop:
    """A cluster with an admin at one machine, and a user with few rights at another."""

    admin: Machine
    other: Machine
    who: Watched

    def is_run(self) -> str:
        """The id of a run that the admin has started and stopped at its first eviction."""
        with self.admin.running("drain", "run", *BLUE):
            self.admin.out.until(EVICTED)
            self.admin.times_told = lambda: 1
        self.admin.times_told = lambda: 0
        return self.run_id()

    def run_id(self) -> str:
        maps = self.admin.run("drain", "status", "-o", "json").out
        return str(json.loads(maps)["runs"][0]["run"])


@contextmanager
def shop(folder: Path, held: Iterable[Held]) -> Iterator[Shop]:
    users: dict[str, ServedUser] = {"admin": Watched("admin", ADMIN)}
    who = users["other"] = Watched("other", held)
    api = Api(worlds.plane_of("small-traps"), ApiSetup(TokenUsers(users)), ScaledTime(time.monotonic, worlds.SPEED))
    folder.mkdir(exist_ok=True)
    with serving(api) as server:
        yield Shop(machine(server, folder / "ann", "admin"), machine(server, folder / "ben", "other"), who)
    assert list(api.internal_errors) == []


def asked(verb: str) -> Callable[[Shop], Ran]:
    """A request `verb` of the other user for a run of the admin."""

    def ask(at: Shop) -> Ran:
        with at.admin.running("drain", "run", *BLUE):
            at.admin.out.until(EVICTED)
            ran = at.other.run("drain", verb, at.run_id())
            at.admin.times_told = lambda: 2
        return ran

    return ask


_LOST = "asked where an answer was lost: tests/kube/live_backend/test_requests.py"
_BEGUN = {
    "create configmaps": "its journal has room left",
    "create leases.coordination.k8s.io": "the lock is there since the run was begun",
}
_CORDONED = dict.fromkeys(("get nodes", "patch nodes"), "all targets are cordoned before the first eviction")
COMMANDS: Mapping[str, tuple[Callable[[Shop], Ran], Mapping[str, str]]] = {
    "drain run": (
        lambda at: at.other.run("drain", "run", *BLUE),
        {"get pods": _LOST, "list configmaps": "read again by whoever carries on"},
    ),
    "drain status": (lambda at: at.other.run("drain", "status", at.is_run(), "-o", "json"), {}),
    "drain pause": (asked("pause"), {}),
    "drain abort": (asked("abort"), {}),
    "drain resume": (lambda at: at.other.goes_on(at.is_run(), *BLUE[2:]), _BEGUN | {"get pods": _LOST} | _CORDONED),
    "drain rollback": (
        lambda at: at.other.run("drain", "rollback", at.is_run(), *BLUE[2:]),
        _BEGUN | {"get pods": _LOST, "get configmaps": "where the lists have not told yet"},
    ),
}
"""What is done with a command, and the rights that it does not use then, each with the reason."""


@pytest.mark.parametrize("command", one_in(3, COMMANDS))
def test_its_role_is_enough_and_no_other_request_is_sent(command: str, tmp_path: Path) -> None:
    role, (do, never) = printed(command), COMMANDS[command]
    with shop(tmp_path / "shop", role) as at:
        ran = do(at)
    assert ran.code in ((0, 1) if command == "drain run" else (0,)), ran.err
    assert unregistered(at.who.asked, role) == []
    unused = [right.said for right in role if not any(right.allows(action) for action in at.who.asked)]
    assert set(unused) <= set(never)


@dataclass(frozen=True)
class Flagged:
    """A run with `flags` on a cluster `made` for it. `uses`: rights that a run without them does not need, or not
    there; `typed`: the confirmation."""

    flags: str
    uses: tuple[str, ...]
    made: Callable[[], ControlPlane] = lambda: worlds.plane_of("small-traps")
    speed: float = worlds.SPEED
    typed: str = "lab 1\n"
    times: int = 1

    @property
    def words(self) -> str:
        return f"drain run --nodegroup blue {self.flags}"

    def run(self, held: Iterable[Held], folder: Path) -> tuple[Ran, Watched]:
        """Run it; returns the last output of `times`."""
        who = Watched("other", held)
        api = Api(self.made(), ApiSetup(TokenUsers({"other": who})), ScaledTime(time.monotonic, self.speed))
        with serving(api) as server:
            ben = machine(server, folder / "ben", "other")
            ben.types = self.typed
            return [ben.run(*self.words.split()) for _ in range(self.times)][-1], who


FLAGGED = (
    Flagged(
        "--surge-singles",
        ("get deployments.apps", "patch deployments.apps"),
        lambda: test_eviction_methods.plane_of(*single()),
        test_eviction_methods.SPEED,
    ),
    Flagged(
        "--delete-past-budget default/db-0",
        ("delete pods",),
        lambda: test_eviction_methods.plane_of(*test_eviction_methods.db()),
        test_eviction_methods.SPEED,
        "lab 1\ndefault/db-0\n",
    ),
    Flagged("--run-id 20261120-093000-abcd", ("list configmaps",), times=2),
)


@pytest.mark.parametrize("of", one_in(2, FLAGGED), ids=lambda of: of.flags)
@pytest.mark.long
def test_a_flag_needs_what_is_printed_with_it_and_uses_all_of_that(of: Flagged, tmp_path: Path) -> None:
    role = printed(of.words)
    ran, who = of.run(role, tmp_path)
    assert ran.code in (0, 1), ran.err
    assert unregistered(who.asked, role) == []
    unused = {right.said for right in role if not any(right.allows(action) for action in who.asked)}
    assert unused.isdisjoint(of.uses) and set(of.uses) <= {right.said for right in role}


@pytest.mark.parametrize(
    ("of", "opt_in", "lacks"),
    [
        (
            FLAGGED[0],
            "patch-workloads",
            "get deployments.apps in namespace default; patch deployments.apps in namespace",
        ),
        (FLAGGED[1], "delete-pods", "delete pods in namespace default"),
    ],
    ids=lambda of: of.flags if isinstance(of, Flagged) else "",
)
def test_an_opt_in_that_is_not_granted_is_named_before_anything_is_done(
    of: Flagged, opt_in: str, lacks: str, tmp_path: Path
) -> None:
    """An incomplete run is worse than none. A user with this right in the namespaces of the pods has all that is
    needed."""
    ran, who = of.run(printed("drain run"), tmp_path)
    assert ran.code == 3 and lacks in ran.err and "Nothing was done." in ran.err, ran.err
    assert f"kubectl eksdoc permissions drain run --with {opt_in}" in " ".join(ran.err.split())
    assert {each.verb for each in who.asked} <= {"list", "get", "watch"} and "Type" not in ran.err


def test_an_opt_in_in_the_namespace_of_the_pods_is_enough(tmp_path: Path) -> None:
    there = [Held(verb, "deployments", "apps", "default") for verb in ("get", "patch")]
    assert FLAGGED[0].run([*printed("drain run"), *there], tmp_path)[0].code == 0


def test_each_right_of_a_run_is_used_by_one_of_them() -> None:
    used = {right for of in FLAGGED for right in of.uses}
    whole = {right.said for right in printed("drain run --with patch-workloads,delete-pods")}
    _, never = COMMANDS["drain run"]
    plain = {right.said for right in printed("drain run")}
    assert {right for right in never if never[right] != _LOST} <= used
    assert whole - plain <= used


def without(command: str, right: Held, folder: Path) -> list[str]:
    """The fault without that right: none if the right is named or was never requested."""
    role, (do, _) = printed(command), COMMANDS[command]
    with shop(folder, [each for each in role if each != right]) as at:
        ran = do(at)
    found = [str(each) for each in unregistered(at.who.asked, role)]
    if ran.code == BUG or "Traceback" in ran.err:
        found.append(f"a bug: {ran.err[-400:]}")
    elif right.said in required(command):
        found += [] if ran.code == 3 and right.said in ran.err else [f"exit code {ran.code}: {ran.err[-300:]}"]
    elif any(right.allows(action) for action in at.who.asked) and right.said not in ran.out + ran.err:
        found.append(f"it is nowhere named, and the exit code is {ran.code}")
    return [f"without {right.said}: {each}" for each in found]


@pytest.mark.long
@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "drain resume"])  # as drain run
def test_every_right_that_is_missing_is_named(command: str, tmp_path: Path) -> None:
    """Except those of the plan, which are removed for that command; without budgets it plans to drain nothing."""
    planned = {right.said for right in printed("drain plan")} - required(command) | {"list poddisruptionbudgets.policy"}
    rights = [right for right in printed(command) if right.said not in planned]
    found = [each for at, right in enumerate(rights) for each in without(command, right, tmp_path / f"shop-{at}")]
    assert found == [], "\n".join(found)
