"""Each entry point as a separate program: kubectl finds it without a warning, and it equals its subcommand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_eksdoc import __version__
from tests import required_programs
from tests.contracts.source import ROOT
from tests.fakes.programs import program
from tools.registry import Plugin, read

PLUGINS = read().plugins
SUBCOMMANDS = pytest.mark.parametrize(
    "plugin",
    # The entry points of one plugin are quick tests; whole processes take long.
    [pytest.param(each, marks=pytest.mark.long if n else (), id=each.name) for n, each in enumerate(PLUGINS[1:])],
)
DEMO = {
    "drain": ["plan", "--demo"],
    "addon-diff": ["vpc-cni", "--demo", "-o", "json"],
    "imds-probe": ["--demo"],
    "coredns-lameduck": ["--demo", "-o", "wide"],
    "interruption": ["--demo"],
    "check": ["--demo", "--only", "needs-nodes"],
}


def run(*command: str, path: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **({"PATH": path} if path else {})}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every entry point, as pip creates them: a script of that name that calls the same function."""
    top = tmp_path_factory.mktemp("installed")
    (top / "scripts").mkdir()
    (top / "bin").mkdir()
    for plugin in PLUGINS:
        for name in (plugin.binary, plugin.completer):
            script = top / "scripts" / name
            script.write_text("from kubectl_eksdoc.launch import main\nmain()\n", encoding="utf-8")
            program(top / "bin" / name, sys.executable, str(script))
    return top / "bin"


def same(left: subprocess.CompletedProcess[str], right: subprocess.CompletedProcess[str]) -> None:
    assert (left.returncode, left.stdout, left.stderr) == (right.returncode, right.stdout, right.stderr)


def test_kubectl_finds_all_of_them_without_a_warning(folder: Path) -> None:
    kubectl = required_programs.kubectl()
    listed = run(kubectl, "plugin", "list", path=f"{folder}:{Path(kubectl).parent}:/bin")
    assert [plugin.binary for plugin in PLUGINS if str(folder / plugin.binary) not in listed.stdout] == []
    assert [line for line in listed.stderr.splitlines() if "eksdoc" in line] == []


@pytest.mark.long
@SUBCOMMANDS
def test_answers_are_those_of_the_subcommand(folder: Path, plugin: Plugin) -> None:
    words = DEMO[plugin.command]
    found = run(str(folder / plugin.binary), *words)
    assert found.returncode in (0, 1, 5) and found.stdout
    same(found, run(str(folder / "kubectl-eksdoc"), plugin.command, *words))


@SUBCOMMANDS
def test_each_says_its_version(folder: Path, plugin: Plugin) -> None:
    found = run(str(folder / plugin.binary), "--version")
    assert (found.returncode, found.stdout, found.stderr) == (0, f"kubectl eksdoc {__version__}\n", "")


@pytest.mark.long
def test_kubectl_runs_them_by_krews_names(folder: Path) -> None:
    kubectl = required_programs.kubectl()
    path = f"{folder}:{Path(kubectl).parent}:/bin"
    found = run(kubectl, "eksdoc-addon-diff", *DEMO["addon-diff"], path=path)
    same(found, run(kubectl, "eksdoc", "addon-diff", *DEMO["addon-diff"], path=path))
