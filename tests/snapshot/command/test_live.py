"""A snapshot of a served cluster, with some rights missing, gives the same answers as the cluster."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import TokenUsers
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import ROLLBACK
from tests.aws.test_live import NAME, REGION, prod
from tests.check.command.test_served import user
from tests.cli.running import called, document
from tests.cli.terminal_user import Somebody
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
OF_THE_SOURCE = ("command", "commands", "undo", "verify", "remedy")
"""What says how the cluster is reached, and what to do where something could not be read."""
WORDS = re.compile(r'"[^"]*\.sock[^"]*"')
LACKING = (kinds.BUDGETS.full_name, kinds.CONFIG_MAPS.full_name)


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatedApiServer]:
    every = rights.BY_COMMAND["snapshot"]
    fewer = tuple(each for each in every if each.resource.full_name not in LACKING)
    users = {"whole": user("whole", every), "fewer": user("fewer", fewer)}
    api = Api(worlds.plane_of("rich", None), ApiSetup(TokenUsers(users)), ManualTime())
    with serving(api) as server:
        yield server
    assert list(api.internal_errors) == []


def somebody(cluster: SimulatedApiServer, token: str, aws: World, folder: Path) -> Somebody:
    return Somebody(kubeconfigs.one(folder / "config", cluster.url(token), name="lab"), aws)


AGAIN = re.compile(
    r" (or ask a person who has it|and take the snapshot again|then (plan|take the snapshot) again)(?=\.)"
)
"""What is to be done once a right is granted: the cluster is asked again, or another snapshot is taken."""


def _answer(document: dict[str, Any]) -> dict[str, Any]:
    """The answer without the name of the source, and without the command and arguments of containers, of which only
    sockets are kept."""
    body = {key: value for key, value in document.items() if key != "metadata"}
    body["kindsRead"] = document["metadata"]["kindsRead"]
    return _plain(body)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key not in OF_THE_SOURCE}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, str):
        return value
    text, back, _ = WORDS.sub('"…"', AGAIN.sub(" …", value)).partition(ROLLBACK)  # a command follows it
    return text + back


CHECK, STEPS, PLAN = ("check",), ("check", "--target", "1.26"), ("drain", "plan", "--nodegroup", "blue")


@pytest.mark.parametrize(
    ("token", "commands"),
    [
        pytest.param("fewer", (PLAN,), marks=pytest.mark.long),
        pytest.param("fewer", (CHECK, STEPS), marks=pytest.mark.long),
        pytest.param("whole", (CHECK, STEPS, PLAN), marks=pytest.mark.long),
    ],
)
def test_it_answers_as_the_cluster(
    cluster: SimulatedApiServer, prod: World, tmp_path: Path, token: str, commands: tuple[tuple[str, ...], ...]
) -> None:
    desk, path = somebody(cluster, token, prod, tmp_path), str(tmp_path / "lab.eksdoc")
    taken = desk.run("snapshot", path, "-o", "json")
    lacking = {each["what"] for each in document(taken.out, "Snapshot")["lacking"]}
    assert ("poddisruptionbudgets.policy" in lacking) == (token == "fewer")
    assert taken.code == (5 if lacking else 0)
    for command in commands:
        # A command without AWS knows the name only if it is given; a snapshot holds the one that AWS confirmed.
        named = ("--cluster-name", NAME, "--region", REGION) if command == PLAN else ()
        held, live = called(*command, "-o", "json", "--snapshot", path), desk.run(*command, "-o", "json", *named)
        assert _answer(json.loads(held.out)) == _answer(json.loads(live.out))


def test_without_the_pods_there_is_no_file(cluster: SimulatedApiServer, prod: World, tmp_path: Path) -> None:
    taken = somebody(cluster, "nobody", prod, tmp_path).run("snapshot", str(tmp_path / "lab.eksdoc"))
    assert (taken.code, taken.out) == (3, "")
    assert [name.name for name in tmp_path.iterdir()] == ["config"]


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        ((), "the file is not named"),
        (("a", "b"), "one file is written, and 2 are named"),
        (("-",), "'-' is no file to write to"),
        (("/dev/null", "--overwrite"), "'/dev/null' is no file to write to"),
        (("a", "--snapshot", "b"), "--snapshot is no flag of 'kubectl eksdoc snapshot'"),
    ],
)
def test_what_was_given_does_not_fit(argv: tuple[str, ...], why: str) -> None:
    ran = called("snapshot", *argv)
    assert ran.code == 2 and why in ran.err


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "lab.eksdoc"
    path.write_text("mine")
    ran = called("snapshot", str(path), "--demo")
    assert ran.code == 2 and "is there already" in ran.err
    assert path.read_text() == "mine"
