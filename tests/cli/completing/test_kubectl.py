"""Completion by the real kubectl: it finds the completers on PATH, and they query a served cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.completion_names import LOOKUP_TIMEOUT_S
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer
from kubectl_eksdoc.model import kinds
from tests import required_programs
from tests.cli.completing.asked import Answered, process, read
from tests.contracts.source import ROOT
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer
from tests.fakes.programs import program
from tools.registry import read as registry

COMPLETERS = [(plugin.completer, plugin.name, plugin.command) for plugin in registry().plugins]


@dataclass(frozen=True)
class Shell:
    """A user's home, with every completer in a folder on PATH, as in krew's bin folder."""

    home: Path
    config: str = ""

    @property
    def environ(self) -> dict[str, str]:
        path = f"{self.home / 'bin'}:{Path(required_programs.kubectl()).parent}:/usr/bin:/bin"
        given = {"PATH": path, "HOME": str(self.home), "PYTHONPATH": str(ROOT), **required_programs.BYTECODE}
        return {**given, **({"KUBECONFIG": self.config} if self.config else {})}

    def tab(self, *words: str) -> Answered:
        """``kubectl WORDS<TAB>``; the last word is incomplete."""
        command = [required_programs.kubectl(), "__complete", *words]
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, env=self.environ, timeout=60, check=False)
        seconds = time.monotonic() - begun
        assert done.returncode == 0
        # kubectl says on stderr which directive it ends with, and nothing else may stand there.
        said = [line for line in done.stderr.splitlines() if not line.startswith(("Completion ended", "[Debug]"))]
        assert said == []
        return read(done.stdout, seconds)

    def soon(self, *words: str) -> Answered:
        """Press the key as often as necessary where the machine is slow."""
        ends_s = time.monotonic() + 60
        while True:
            found = self.tab(*words)
            if found.values or time.monotonic() > ends_s:
                return found
            time.sleep(0.1)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "bin").mkdir()
    for completer, name, _ in COMPLETERS:
        for each in (completer, f"kubectl-{name.replace('-', '_')}"):
            script = tmp_path / "scripts" / each
            script.write_text("from kubectl_eksdoc.launch import main\nmain()\n", encoding="utf-8")
            program(tmp_path / "bin" / each, sys.executable, str(script))
    return tmp_path


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedApiServer]:
    with worlds.served("small-traps", ManualTime(), pace=None) as (server, _):
        yield server


@pytest.fixture
def shell(home: Path, server: SimulatedApiServer) -> Shell:
    return Shell(home, kubeconfigs.one(home / "config", server.url(worlds.ADMIN_TOKEN), name="lab"))


@pytest.mark.long
@pytest.mark.parametrize(("completer", "name", "command"), COMPLETERS, ids=lambda each: str(each))
def test_every_entry_point_completes(home: Path, completer: str, name: str, command: str) -> None:
    assert os.access(home / "bin" / completer, os.X_OK)
    found = Shell(home).tab(name, *(["plan"] if command == "drain" else []), "--demo" if command else "dr")
    assert found.values == (["--demo"] if command else ["drain"])


def test_node_groups_of_the_demo(home: Path) -> None:
    found = Shell(home).tab("eksdoc", "drain", "plan", "--demo", "--nodegroup", "")
    assert found.values == ["blue", "general", "green"] and found.directive == 4


@pytest.mark.long
def test_names_of_a_served_cluster(shell: Shell) -> None:
    groups = shell.soon("eksdoc", "drain", "plan", "--nodegroup", "")
    assert groups.values and groups.directive == 4
    nodes = shell.soon("eksdoc", "drain", "plan", "")
    assert nodes.values and all(any(group in about for group in groups.values) for about in nodes.offers.values())
    assert "default" in shell.soon("eksdoc", "imds-probe", "-n", "").offers
    assert shell.tab("eksdoc", "check", "--context", "").values == ["lab"]
    assert shell.tab("eksdoc", "drain", "status", "").values == [], "there has been no run"


@pytest.mark.long
def test_what_was_found_is_remembered(home: Path) -> None:
    with ApiServer() as server:
        shell = Shell(home, kubeconfigs.one(home / "config", server.url))
        first = shell.soon("eksdoc", "drain", "plan", "")
        asked = server.asked(kinds.NODES.path)
        assert first.values and len(asked) == 1
        assert "as=PartialObjectMetadataList" in asked[0].header("accept") and asked[0].query["limit"] == "500"
        assert shell.tab("eksdoc", "drain", "plan", "").offers == first.offers
        assert len(server.asked(kinds.NODES.path)) == 1
    kept = [path for path in (home / ".cache" / "eksdoc").iterdir() if path.suffix == ".names"]
    assert len(kept) == 1 and kept[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_a_server_that_never_answers_holds_nobody(home: Path) -> None:
    with ApiServer() as server:
        server.open.clear()
        config = kubeconfigs.one(home / "config", server.url)
        found = process("drain", "plan", "", home=home, environ={"KUBECONFIG": config})
        again = process("drain", "plan", "", home=home, environ={"KUBECONFIG": config})
        server.open.set()
    # A second is for the cluster, the rest is Python's own, which a busy machine makes longer; no test waits until the
    # look-up is ended.
    for each in (found, again):
        assert (each.values, each.directive) == ([], 4) and each.seconds < LOOKUP_TIMEOUT_S - 1
    assert len(server.asked(kinds.NODES.path)) <= 1, "who presses again waits for the same answer"


@pytest.mark.long
def test_a_kubeconfig_that_never_ends_holds_nobody(home: Path) -> None:
    """A pipe without a writer, and an endless file."""
    os.mkfifo(home / "pipe")
    for endless in (str(home / "pipe"), "/dev/zero"):
        found = process("check", "--context", "", home=home, environ={"KUBECONFIG": endless})
        assert (found.values, found.directive) == ([], 4) and found.seconds < 30


@pytest.mark.long
def test_offline_nothing_is_asked(home: Path) -> None:
    with ApiServer() as server:
        config = kubeconfigs.one(home / "config", server.url)
        environ = {"KUBECONFIG": config, "EKSDOC_COMPLETION_OFFLINE": "1"}
        assert process("drain", "plan", "", home=home, environ=environ).values == []
        assert server.requests == [] and not (home / ".cache").exists()


@pytest.mark.long
def test_nobody_who_listens_and_nothing_to_write_on(home: Path) -> None:
    around = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), **required_programs.BYTECODE}
    command = f"{sys.executable} -m kubectl_eksdoc __complete ''"
    for closing in (">&-", "2>&-", ">&- 2>&- <&-", "| true", "> /dev/full"):
        script = f"set -o pipefail; {command} {closing}"
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, env=around, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), closing
