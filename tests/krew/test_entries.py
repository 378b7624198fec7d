"""Plugins for one command each: a launcher that runs the program of the plugin eksdoc, or a link to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_eksdoc import __version__
from kubectl_eksdoc.host import completers as entry_points
from tests.krew.installing import install, upgrade
from tools.krew import build, launcher, tree
from tools.krew.tree import ENTRY, LAUNCHER, ROOT
from tools.registry import Plugin, read

HERE = f"{sys.platform}_{ {'x86_64': 'amd64', 'aarch64': 'arm64', 'arm64': 'arm64'}.get(os.uname()[4], '') }"
REGISTRY = read()
WHOLE, *ENTRIES = REGISTRY.plugins
EACH = pytest.mark.parametrize("plugin", ENTRIES, ids=lambda plugin: plugin.name)
MOST_BYTES = 60_000_000


@pytest.fixture
def krew(tmp_path: Path) -> Path:
    """krew's root with the plugins of one command, and without the program."""
    archive, _ = build.entry_archive(tmp_path)
    for plugin in ENTRIES:
        install(archive.read_bytes(), tmp_path / "krew", plugin.name, REGISTRY.bin_of(plugin))
    return tmp_path / "krew"


def run(program: Path, *words: str, path: str = "/bin:/usr/bin", home: str = "/") -> subprocess.CompletedProcess[str]:
    env = {"PATH": path, "HOME": home, "LANG": "C.UTF-8"}
    return subprocess.run([str(program), *words], env=env, capture_output=True, text=True, check=False)


def a_program(folder: Path) -> Path:
    """A program that prints its name and its arguments."""
    folder.mkdir(exist_ok=True)
    program = folder / "kubectl-eksdoc"
    program.write_text('#!/bin/sh\nprintf "%s|" "${0##*/}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


@EACH
def test_it_runs_the_program_beside_it(krew: Path, plugin: Plugin) -> None:
    a_program(krew / "bin")
    assert run(krew / "bin" / plugin.binary, "a b", "").stdout == f"kubectl-eksdoc|{plugin.command}|a b||"
    completer = krew / "bin" / plugin.completer
    completer.symlink_to(plugin.binary)
    assert run(completer, "x").stdout == f"kubectl-eksdoc|__complete|{plugin.command}|x|"
    assert run(krew / "bin" / plugin.binary, "__complete", "x").stdout == run(completer, "x").stdout


@EACH
def test_without_the_program_it_says_how_to_install_it(krew: Path, plugin: Plugin) -> None:
    done = run(krew / "bin" / plugin.binary, "--version")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: kubectl {plugin.name} needs the plugin eksdoc, which is not installed: "
        "kubectl krew install eksdoc/eksdoc\n"
    )
    completing = run(krew / "bin" / plugin.binary, "__complete", "x")
    assert (completing.returncode, completing.stdout, completing.stderr) == (1, "", "")


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh"])
def test_any_shell_can_parse_it(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    done = subprocess.run([shell, "-n", str(ROOT / "tools/krew/entry.sh")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_links_and_plugins_stand_for_the_same_commands() -> None:
    assert list(entry_points.ENTRY_POINT_COMMANDS) == [plugin.command for plugin in ENTRIES]
    assert {REGISTRY.bin_of(plugin) for plugin in ENTRIES} == {ENTRY} != {REGISTRY.bin_of(WHOLE)} == {LAUNCHER}
    assert set(tree.of_entry()) == {ENTRY, "LICENSE"}


# Byte code ----------------------------------------------------------------------------------------


def test_byte_code_of_versions_that_are_gone_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, cache = tmp_path / "store", tmp_path / "cache"
    for plugin, version in (("eksdoc", "v0"), ("eksdoc", "v1"), ("eksdoc", "v2"), ("eksdoc-drain", "v0")):
        (Path(f"{cache}{store}") / plugin / version / "lib").mkdir(parents=True)
    (store / "eksdoc" / "v1").mkdir(parents=True)
    kept = Path(f"{cache}{store}")

    def begun_from(version: str) -> list[str]:
        monkeypatch.setattr(launcher, "LIB", str(store / "eksdoc" / version / "lib"))
        launcher.prune(str(cache))
        return sorted(path.relative_to(kept).as_posix() for path in kept.glob("*/*"))

    assert len(begun_from("v1")) == 4, "only the first run of a version looks"
    shutil.rmtree(kept / "eksdoc" / "v2")
    (store / "eksdoc" / "v2").mkdir()
    assert begun_from("v2") == ["eksdoc/v1"]
    launcher.prune("")
    launcher.prune(str(tmp_path / "nowhere"))


# The real archives --------------------------------------------------------------------------------


def size_of(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if not path.is_symlink())


@pytest.mark.long
@pytest.mark.skipif(HERE not in {f"{each.os}_{each.arch}" for each in REGISTRY.platforms}, reason="no archive for this")
def test_all_entry_points_of_krew_take_little_room_and_survive_an_upgrade(
    krew: Path, archives: dict[str, Path], tmp_path: Path
) -> None:
    home, archive = tmp_path / "home", archives[HERE].read_bytes()
    path = f"{krew / 'bin'}:{os.path.dirname(os.path.realpath(sys.executable))}:/bin:/usr/bin"
    main = install(archive, krew, "eksdoc", LAUNCHER)
    assert size_of(krew) <= MOST_BYTES
    for plugin in ENTRIES[:2]:
        (krew / "bin" / plugin.binary).unlink()  # never installed: links are made instead
    linked = run(main, "plugins", "link", path=path, home=str(home))
    assert (linked.returncode, linked.stdout.count("\nmade ") + linked.stdout.startswith("made ")) == (0, 2)
    assert linked.stdout.count("there already: ") == 4
    run(main, "completion", "install", path=path, home=str(home))
    completers = sorted((krew / "bin").glob("kubectl_complete-*"))
    assert len(completers) == 7
    upgrade(archive, krew, "eksdoc", LAUNCHER)
    for plugin in REGISTRY.plugins:
        said = run(krew / "bin" / plugin.binary, "--version", path=path, home=str(home))
        assert (said.returncode, said.stdout) == (0, f"kubectl eksdoc {__version__}\n"), said.stderr
    assert all("--help" in run(each, "--he", path=path, home=str(home)).stdout for each in completers)
    helped = run(krew / "bin" / "kubectl-eksdoc_check", "--help", path=path, home=str(home))
    assert helped.stdout == run(main, "check", "--help", path=path, home=str(home)).stdout != ""
    byte_code = home / ".cache" / "kubectl-eksdoc" / "pycache"
    assert [each.name for each in Path(f"{byte_code}{krew}/store/eksdoc").iterdir()] == ["v1"]
    assert size_of(krew) <= MOST_BYTES
