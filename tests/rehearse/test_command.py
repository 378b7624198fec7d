"""``kubectl eksdoc rehearse`` on the built-in cluster, and kubectl as a client of the served cluster."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import time
import urllib.error
import urllib.request
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.embedded.faults import ALL_FAULTS
from kubectl_eksdoc.embedded.stage import USERS, kubeconfig, new_tokens, write_kubeconfig
from kubectl_eksdoc.model.cluster import Identity
from kubectl_eksdoc.rehearse.command import SPEED
from kubectl_eksdoc.wiring.stages import RequestedFaults, ServeSettings
from tests.cli.processes import started, until
from tests.cli.running import Ran, Terminal, called, run_cli

BLUE = ("--demo", "--nodegroup", "blue")


@cache
def of_blue() -> Ran:
    return run_cli("rehearse", *BLUE, "-o", "json")


def test_the_demo_is_rehearsed() -> None:
    ran = run_cli("rehearse", "--demo")
    assert ran.out.startswith("Rehearsed: 5 of 5 nodes emptied by 37 evictions in ")
    assert "demo cluster" in ran.err and ran.code == 1, "three nodes are skipped, which the plan's blockers say"


@pytest.mark.long
def test_both_commands_are_the_same() -> None:
    body = json.loads(of_blue().out)
    assert (body["kind"], len(body["nodes"])) == ("DrainRehearsal", 5)
    assert run_cli("drain", "rehearse", *BLUE, "-o", "json") == of_blue(), "the same every time"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rehearse", "--demo", "--speed", "3"), "--speed is for --serve"),
        (("rehearse", "--demo", "--serve", "old-1"), "--serve serves the whole cluster"),
        (("rehearse", "--demo", "--serve", "--speed", "0"), "'0' is no speed"),
        (("rehearse", "--demo", "--fault", "nodegone"), "--fault: 'nodegone' is no fault (did you mean node-gone?)"),
        (("rehearse", "--demo", "--fault", "slow@5%"), "--fault slow@5% is met by clients, and only --serve has some"),
        (("rehearse", "--demo", "--serve", "--fault", "no-new-nodes"), "--fault no-new-nodes is for rehearsals"),
        (("rehearse", "--demo", "--fault", "node-gone=blu-1"), "there is no node 'blu-1' (did you mean blue-1"),
        (("rehearse", "--demo", "--fault-seed", "-1"), "--fault-seed: '-1' is no seed"),
    ],
)
@pytest.mark.long
def test_what_does_not_fit_is_said(words: tuple[str, ...], said: str) -> None:
    ran = run_cli(*words)
    assert ran.code == 2 and said in ran.err and not ran.out


def test_serving_prints_the_kubeconfig_first_and_ends_with_an_interrupt() -> None:
    asked: list[ServeSettings] = []

    def serve(source: object, connection: object, progress: object, how: ServeSettings) -> None:
        asked.append(how)
        how.ready("/tmp/kc", "http://127.0.0.1:1")
        raise KeyboardInterrupt

    out, err = Terminal(), Terminal()
    around = replace(CommandContext(out, err), serve=serve)
    argv = ["rehearse", "--serve", "--demo", "--speed", "5", "--fault", "throttled=2@5%", "--fault-seed", "7"]
    assert run(argv, out, err, context=around) == 0
    assert out.getvalue() == "/tmp/kc\n"
    assert "5 times as fast as time" in err.getvalue()
    told = "in another terminal: kubectl eksdoc --kubeconfig /tmp/kc, or kubectl --kubeconfig /tmp/kc get nodes"
    assert told in err.getvalue()
    assert (asked[0].speed, asked[0].faults) == (5.0, RequestedFaults(("throttled=2@5%",), 7))


def test_a_kubeconfig_has_a_context_for_each_user_and_is_private(tmp_path: Path) -> None:
    users = new_tokens()
    assert {user.name for user in users.values()} == {user.name for user in USERS} and len(users) == len(USERS)
    text = kubeconfig({user.name: f"http://h/as/{token}" for token, user in users.items()})
    config = json.loads(text)
    assert config["current-context"] == "rehearsal"
    assert {each["name"] for each in config["contexts"]} == {"rehearsal", "rehearsal-viewer", "rehearsal-operator"}
    path = write_kubeconfig(text, str(tmp_path / "kc"))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with pytest.raises(FileExistsError):
        write_kubeconfig(text, path)


def test_all_faults_are_listed() -> None:
    ran = run_cli("rehearse", "--fault", "list")
    assert ran.code == 0 and not ran.err
    assert [line.split()[0] for line in ran.out.splitlines()[1:] if line[:1].islower()] == [
        each.syntax for each in ALL_FAULTS
    ]


SERVE = ("rehearse", "--serve", "--demo")


def url_of(path: Path) -> str:
    """The URL of an administrator."""
    config = json.loads(path.read_text())
    return next(str(each["cluster"]["server"]) for each in config["clusters"] if each["name"] == "rehearsal")


@pytest.mark.long
def test_a_served_demo_meets_its_faults_and_says_what_befell_it(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    faults = ("--fault", "forbidden=nodes", "--fault", "node-gone=blue-1@1s")
    with started(tmp_path, *SERVE, "--kubeconfig-out", str(path), *faults) as process:
        assert process.stdout is not None and process.stdout.readline() == f"{path}\n"
        url = url_of(path)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{url}/api/v1/nodes", timeout=10)
        for _ in range(100):  # time passes at each request
            with urllib.request.urlopen(f"{url}/api/v1/pods?limit=1", timeout=10):
                time.sleep(0.05)
            if process.stderr is not None and "is gone with its instance" in process.stderr.readline():
                break
        else:
            raise AssertionError("nobody said so")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0


@pytest.mark.long
def test_the_served_demo_answers_until_it_is_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with started(tmp_path, *SERVE, "--kubeconfig-out", str(path)) as process:
        assert process.stdout is not None and process.stdout.readline() == f"{path}\n"
        with urllib.request.urlopen(f"{url_of(path)}/version", timeout=10) as answer:
            said = json.load(answer)["gitVersion"]
        assert re.match(r"v1\.\d+\.\d+", said), "kubectl version wants all three"
        assert Identity(server_version=said).speed == SPEED
        ran = called("drain", "plan", "--nodegroup", "blue", "-o", "json", "--kubeconfig", str(path))
        assert ran.code == 1 and len(json.loads(ran.out)["targets"]) == 8, "this tool reads it as a live cluster"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
    assert path.exists(), "a file that was asked for stays"


@pytest.mark.long
@pytest.mark.parametrize("sent", [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGHUP, signal.SIGTERM)], ids=str)
def test_a_temporary_kubeconfig_goes_with_its_server(sent: tuple[signal.Signals, ...], tmp_path: Path) -> None:
    """The server ends by Ctrl-C, by kill, or because its terminal is closed, which sends two signals of which one is
    handled."""
    with started(tmp_path, *SERVE) as process:
        assert process.stdout is not None and process.stderr is not None
        path = Path(process.stdout.readline().strip())
        assert path.exists()
        for number in sent:
            process.send_signal(number)
        assert process.wait(timeout=10) == 0
        until(lambda: not path.exists(), 5.0)
        assert "bug" not in process.stderr.read()


@pytest.mark.long
def test_a_kubeconfig_that_was_taken_away_is_no_bug(tmp_path: Path) -> None:
    with started(tmp_path, *SERVE) as process:
        assert process.stdout is not None
        Path(process.stdout.readline().strip()).unlink()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
