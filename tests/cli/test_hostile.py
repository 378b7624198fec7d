"""Whole commands against servers whose answers never end: each ends within --read-timeout and one request, with exit
code 3, a sentence, and little memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from kubectl_eksdoc.model import kinds
from tests.aws.test_live import NAME, REGION, prod
from tests.cli.processes import started
from tests.cli.running import Ran, called
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer, Reply, Request, json_reply, recorded
from tests.kube.test_hostile import OK, for_ever

if TYPE_CHECKING:
    from tests.aws.world.server import World

Answering = Callable[[Request], Reply]
READ_S, REQUEST_S, SLACK_S = 1.0, 1.0, 20.0
"""The last for a machine that does other things as well; without a bound a command would go on for ever."""
__all__ = ["prod"]
COMMANDS = (
    "drain plan -l !x",
    "rehearse -l !x",
    "check --target 1.36",
    "snapshot FILE --overwrite",
    "imds-probe",
    "coredns-lameduck",
    "interruption",
)


def sent(begin: bytes, *parts: bytes, drip: float = 0.0) -> Answering:
    return lambda _: Reply(raw=for_ever(begin, *parts), drip=drip)


def pages(token: str) -> Answering:
    """Pages without objects, repeated endlessly."""
    meta = {"resourceVersion": "1", "continue": token}
    return lambda _: json_reply({"kind": "List", "apiVersion": "v1", "metadata": meta, "items": []})


BEHAVIOURS: Mapping[str, Callable[[], Answering]] = {
    "a slow body": lambda: sent(OK + b"\r\n", b"{", drip=0.01),
    "a body": lambda: sent(OK + b"\r\n", b" " * 60_000),
    "one token": lambda: pages("t"),
    "brackets": lambda: lambda _: Reply(200, {"Content-Type": "application/json"}, b"[" * 100_000),
}


class Hostile(ApiServer):
    """Answers every request except that for the version in this way."""

    def __init__(self, answering: Answering) -> None:
        super().__init__()
        self._answering = answering

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        if request.path == "/version":
            return recorded("version")
        return self._answering(request)


@dataclass(frozen=True)
class Took:
    ran: Ran
    seconds: float


def took(command: str, server: ApiServer, folder: Path, read_s: float = READ_S, request_s: float = REQUEST_S) -> Took:
    config = kubeconfigs.one(folder / "config", server.url, name="lab")
    words = command.replace("FILE", str(folder / "file.eksdoc")).split()
    limits = ("--kubeconfig", config, "--read-timeout", f"{read_s:g}", "--request-timeout", f"{request_s:g}")
    begun = time.monotonic()
    ran = called(*words, *limits, environ={"HOME": str(folder), "COLUMNS": "200"})
    return Took(ran, time.monotonic() - begun)


def check_refused(of: Took, read_s: float = READ_S, request_s: float = REQUEST_S) -> None:
    ran = of.ran
    assert (ran.code, ran.out) == (3, ""), ran
    said = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert len(said) == 1, ran.err
    assert "Error" not in said[0] and "bug" not in ran.err, "a sentence, and not what Python calls it"
    assert of.seconds < read_s + request_s + SLACK_S


def test_a_list_without_an_end(tmp_path: Path) -> None:
    with Hostile(BEHAVIOURS["one token"]()) as server:
        of = took("drain plan -l !x", server, tmp_path, read_s=60.0, request_s=60.0)
    check_refused(of)
    assert "the list of nodes does not end: the server sent the same continue token twice" in of.ran.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "behaviour"),
    [(command, each) for command in COMMANDS for each in BEHAVIOURS if command == COMMANDS[0] or each != "a body"],
)
def test_each_command_ends_where_nothing_else_does(tmp_path: Path, command: str, behaviour: str) -> None:
    with Hostile(BEHAVIOURS[behaviour]()) as server:
        check_refused(took(command, server, tmp_path))
    assert not (tmp_path / "file.eksdoc").exists(), "half a snapshot is none"


@pytest.mark.long
@pytest.mark.parametrize("command", ["drain plan -l !x -o wide", "check --target 1.36", "rehearse -l !x"])
def test_a_kind_that_others_do_without(tmp_path: Path, command: str) -> None:
    """Its list does not end, so that the kind is unknown. It takes all the time: nothing else can be read, and the
    command gives no answer."""
    with ApiServer() as server:
        server.always[kinds.BUDGETS.path] = BEHAVIOURS["one token"]()
        of = took(command, server, tmp_path, 60.0, 60.0)
        assert of.ran.code in (1, 5) and "does not end" in of.ran.out, of.ran
        server.always[kinds.BUDGETS.path] = BEHAVIOURS["a slow body"]()
        slow = took(command, server, tmp_path, request_s=0.0)
    check_refused(slow, request_s=0.0)
    assert "cannot be read within 1 s" in slow.ran.err


@pytest.mark.long
@pytest.mark.parametrize("command", ["check --target 1.36", "coredns-lameduck", "snapshot FILE"])
def test_what_is_asked_beside_the_lists_takes_its_part_of_the_time(tmp_path: Path, command: str) -> None:
    """The lists come at once, and each single answer never ends: all of them share one time limit."""
    lists = {each.path for each in kinds.ALL}

    class Beside(ApiServer):
        def reply(self, request: Request) -> Reply:
            if request.path in {*lists, "/version"} and "PartialObject" not in request.header("accept"):
                return super().reply(request)
            self.requests.append(request)
            return BEHAVIOURS["a slow body"]()(request)

    with Beside() as server:
        of = took(command, server, tmp_path, request_s=0.0)
    check_refused(of, request_s=0.0)
    assert "cannot be read within 1 s" in of.ran.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "behaviour"),
    [("addon-diff --all", "a slow body"), ("coredns-lameduck --set lameduck=20s", "one token")],
)
def test_a_command_that_asks_aws_first(tmp_path: Path, prod: World, command: str, behaviour: str) -> None:
    host = urlsplit(prod.client("eks").describe_cluster(name=NAME)["cluster"]["endpoint"]).hostname or ""
    with Hostile(BEHAVIOURS[behaviour]()) as server:
        config = kubeconfigs.one(tmp_path / "config", server.url, name="lab")
        reaching = ["--cluster-name", NAME, "--region", REGION, "--tls-server-name", host, "--kubeconfig", config]
        words = (*command.split(), *reaching, "--read-timeout", "20")
        with started(tmp_path, *words, **prod.environ()) as process:
            _, err = process.communicate(timeout=180)
    assert process.returncode == 3 and err.count("error: ") == 1, err
    assert server.requests


@pytest.mark.parametrize("behaviour", ["brackets", "one token"])
@pytest.mark.parametrize("command", ["drain pause r1", "drain abort r1"])
def test_runs_that_cannot_be_read_are_not_said_to_be_none(tmp_path: Path, command: str, behaviour: str) -> None:
    with Hostile(BEHAVIOURS[behaviour]()) as server:
        ran = took(command, server, tmp_path).ran
    assert ran.code == 3 and "cannot be read" in ran.err and "no run" not in ran.err, ran
