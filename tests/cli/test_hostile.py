"""Whole commands against servers whose answers never end: each ends within --read-timeout and one request, with exit
code 3, a sentence, and little memory."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.model import kinds
from tests.aws.test_live import NAME, REGION, prod
from tests.cli.running import Ran
from tests.contracts.source import ROOT
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer, Reply, Request, json_reply, recorded, refused
from tests.kube.test_hostile import CHUNKED, OK, bomb, for_ever

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


def pages(token: Callable[[int], str], objects: bool = False) -> Answering:
    """Of objects that differ, or of none."""
    count = itertools.count()

    def page(_request: Request) -> Reply:
        number = next(count)
        item = {"metadata": {"name": f"n{number}", "uid": f"u{number}"}, "spec": {}, "status": {}}
        meta = {"resourceVersion": "1", "continue": token(number)}
        return json_reply({"kind": "List", "apiVersion": "v1", "metadata": meta, "items": [item] if objects else []})

    return page


BEHAVIOURS: Mapping[str, Callable[[], Answering]] = {
    "a slow head": lambda: sent(b"", b"H", drip=0.01),
    "a slow body": lambda: sent(OK + b"\r\n", b"{", drip=0.01),
    "slow interim answers": lambda: sent(b"", b"HTTP/1.1 100 Continue\r\n\r\n", drip=0.01),
    "interim answers": lambda: sent(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "a body": lambda: sent(OK + b"\r\n", b" " * 60_000),
    "chunks": lambda: sent(CHUNKED, b"8000\r\n" + b" " * 0x8000 + b"\r\n"),
    "a gzip bomb": lambda: sent(OK + b"Content-Encoding: gzip\r\n\r\n" + bomb()[0], bomb()[1]),
    "one token": lambda: pages(lambda _: "t"),
    "tokens": lambda: pages(lambda number: f"t{number}"),
    "pages": lambda: pages(lambda number: f"t{number}", objects=True),
    "waits": lambda: lambda _: refused("later", "TooManyRequests", 429, **{"Retry-After": "999999999"}),
    "silence": lambda: lambda _: Reply(delay=60.0),
    "brackets": lambda: lambda _: Reply(200, {"Content-Type": "application/json"}, b"[" * 100_000),
}


class Hostile(ApiServer):
    """To every request but that for the version, or also to that."""

    def __init__(self, answering: Answering, version_too: bool = False) -> None:
        super().__init__()
        self._answering, self._version_too = answering, version_too

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        if request.path == "/version" and not self._version_too:
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
    out, err = io.StringIO(), io.StringIO()
    around = CommandContext(out, err, {"HOME": str(folder), "COLUMNS": "200"})
    begun = time.monotonic()
    code = run([*words, *limits], out, err, around=around)
    return Took(Ran(code, out.getvalue(), err.getvalue()), time.monotonic() - begun)


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


OF_EACH_SORT = ("a slow body", "one token", "brackets")
"""Too slow, too often, and not understood: what a command makes of that is its own. How it is found
out is the same for all, and tried with the first."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "behaviour"),
    [(command, each) for command in COMMANDS for each in (BEHAVIOURS if command == COMMANDS[0] else OF_EACH_SORT)],
)
def test_each_command_ends_where_nothing_else_does(tmp_path: Path, command: str, behaviour: str) -> None:
    with Hostile(BEHAVIOURS[behaviour]()) as server:
        check_refused(took(command, server, tmp_path))
    assert not (tmp_path / "file.eksdoc").exists(), "half a snapshot is none"


@pytest.mark.parametrize(
    "behaviour", ["brackets", *(pytest.param(each, marks=pytest.mark.long) for each in BEHAVIOURS if each[-1] != "s")]
)
def test_a_version_without_an_end(tmp_path: Path, behaviour: str) -> None:
    with Hostile(BEHAVIOURS[behaviour](), version_too=True) as server:
        check_refused(took("drain plan -l !x", server, tmp_path))
        assert {request.path for request in server.requests} <= {"/version"}


@pytest.mark.long
@pytest.mark.parametrize("command", ["drain plan -l !x -o wide", "check --target 1.36", "rehearse -l !x"])
def test_a_kind_that_others_do_without(tmp_path: Path, command: str) -> None:
    """Its list does not end: it is unknown. It takes all the time: nothing else can be read, and that is no answer."""
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
    """The lists come at once, and each single answer takes for ever: the time for all of them is one."""
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


_WITH_PEAK = """
import sys
from kubectl_eksdoc.cli.main import main
code = main()
with open("/proc/self/status") as file:
    print(next(line for line in file if line.startswith("VmHWM:")).split()[1], file=sys.stderr)
sys.exit(code)
"""


@dataclass(frozen=True)
class Measured:
    code: int
    err: str
    mib: int


def measured(words: list[str], folder: Path, environ: Mapping[str, str]) -> Measured:
    """Of a process of its own; `mib` is the most memory that it had."""
    done = subprocess.run(
        [sys.executable, "-c", _WITH_PEAK, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **environ, "HOME": str(folder), "PYTHONPATH": str(ROOT)},
        timeout=180,
        check=False,
    )
    *said, peak = done.stderr.splitlines()
    return Measured(done.returncode, "\n".join(said), int(peak) >> 10)


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="Linux says how much memory it was")


@needs_proc
@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "behaviour"),
    [
        *(("drain plan -l !x", each) for each in ("a gzip bomb", "brackets")),
        ("check --target 1.36", "pages"),
    ],
)
def test_what_never_ends_takes_a_bounded_memory(tmp_path: Path, command: str, behaviour: str) -> None:
    with Hostile(BEHAVIOURS[behaviour]()) as server:
        config = kubeconfigs.one(tmp_path / "config", server.url, name="lab")
        of = measured([*command.split(), "--kubeconfig", config, "--read-timeout", "20"], tmp_path, {})
    assert of.code == 3 and "error: " in of.err and "MemoryError" not in of.err, of
    assert of.mib < 1500, "four lists are read at once, of 256 MiB at most each"


@needs_proc
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
        of = measured([*command.split(), *reaching, "--read-timeout", "20"], tmp_path, prod.environ())
    assert of.code == 3 and of.err.count("error: ") == 1, of
    assert server.requests
