"""The released archives: complete, identical in each build, and they run wherever krew installs them."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from kubectl_eksdoc import __version__
from tests.krew.installing import install, link, newer_python, path_of, pythons
from tools.krew import lock
from tools.krew.build import MOST_BYTES
from tools.krew.contents import SERVICES, is_compiled
from tools.krew.lint.archives import read_archive
from tools.krew.lint.judging import judged
from tools.krew.lint.reading import read_manifest
from tools.krew.lint.unpacking import of_archive
from tools.krew.manifests import Manifest, Platform, rendered
from tools.krew.packing import packed
from tools.krew.platforms import MACHINES, PYTHONS
from tools.krew.tree import LAUNCHER, ROOT, of_machine
from tools.krew.wheels import Wheels
from tools.registry import read

pytestmark = pytest.mark.long

NAMES = [machine.name for machine in MACHINES]
ARCH = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "")
HERE = f"{sys.platform}_{ARCH}"
NEW = [version for version in pythons() if version >= (3, 10)]
OLD = [version for version in pythons() if version < (3, 10)]

here_only = pytest.mark.skipif(HERE not in NAMES, reason="there is no archive for this machine")


@pytest.fixture(scope="module")
def installed(archives: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The link to the plugin that krew would install on this machine."""
    return install(archives[HERE].read_bytes(), tmp_path_factory.mktemp("krew"), "eksdoc", LAUNCHER)


def run(program: Path, path: str, home: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    home.mkdir(exist_ok=True)
    env = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", **environ}
    return subprocess.run([str(program), *words], env=env, cwd=home, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", NAMES)
def test_an_archive_is_whole(archives: dict[str, Path], name: str) -> None:
    assert archives[name].stat().st_size <= MOST_BYTES
    archive = read_archive(str(archives[name]))
    assert list(of_archive(archive)) == []
    assert {each.mode for each in archive.entries if each.kind.value == "folder"} == {0o755}
    assert [each.name for each in archive.entries if each.kind.value == "file" and each.mode != 0o644] == [LAUNCHER]
    names = {each.name for each in archive.entries}
    assert {"LICENSE", LAUNCHER, "lib/kubectl_eksdoc/report/schemas/DrainPlan.json"} <= names
    assert [each for each in names if "/tests/" in each or "__pycache__" in each] == []


@pytest.mark.parametrize("name", NAMES)
def test_only_msgspec_is_compiled_for_every_python(archives: dict[str, Path], name: str) -> None:
    with tarfile.open(archives[name]) as tar:
        files = {e.name: tar.extractfile(e) for e in tar if e.isfile()}
        heads = {at: file.read(8) for at, file in files.items() if file is not None}
    compiled = sorted(at for at, head in heads.items() if is_compiled(at, head))
    assert {at.rpartition("/")[0] for at in compiled} == {"lib/msgspec"}
    for version in PYTHONS:
        assert any(f"cpython-{version.replace('.', '')}-" in at for at in compiled), version
    magic = {"linux": b"\x7fELF", "darwin": b"\xcf\xfa\xed\xfe"}[name.partition("_")[0]]
    assert {heads[at][: len(magic)] for at in compiled} == {magic}


def test_the_sdk_knows_what_is_asked_and_nothing_else(archives: dict[str, Path]) -> None:
    with tarfile.open(archives[NAMES[0]]) as tar:
        names = [entry.name for entry in tar if entry.isfile()]
    models = [name.split("/") for name in names if name.startswith("lib/botocore/data/") and name.count("/") > 3]
    assert {parts[3] for parts in models} == SERVICES
    assert len({(parts[3], parts[4]) for parts in models}) == len(SERVICES)
    assert {"lib/botocore/data/endpoints.json", "lib/botocore/data/partitions.json"} <= set(names)


def test_krew_takes_all_four_with_one_manifest(archives: dict[str, Path], tmp_path: Path) -> None:
    read = {machine: read_archive(str(archives[machine.name])) for machine in MACHINES}
    uri = "https://example.com/releases/v0.1.0"
    platforms = tuple(
        Platform(machine.os, machine.arch, f"{uri}/{archive.name}", archive.sha256, LAUNCHER)
        for machine, archive in read.items()
    )
    manifest = Manifest(
        name="eksdoc",
        version="v0.1.0",
        short="Plan risky parts of an EKS upgrade",
        description="Says what draining nodes would do.",
        homepage="https://example.com",
        platforms=platforms,
        caveats="This plugin needs the following programs:\n* python3 (3.10 or newer)",
    )
    (tmp_path / "eksdoc.yaml").write_text(rendered(manifest), encoding="utf-8")
    lint = judged(read_manifest(str(tmp_path / "eksdoc.yaml")), "eksdoc.yaml", tuple(read.values()))
    assert (lint.findings, lint.unchecked, lint.link) == ((), (), LAUNCHER)


def test_an_archive_is_the_same_whenever_it_is_built(archives: dict[str, Path]) -> None:
    again = packed(of_machine(MACHINES[0], Wheels(ROOT / "build" / "krew" / "wheels", locked=lock.read())), LAUNCHER)
    assert hashlib.sha256(again).hexdigest() == hashlib.sha256(archives[NAMES[0]].read_bytes()).hexdigest()


ENDS = {*NEW[:1], *NEW[-1:]}


@here_only
@pytest.mark.parametrize("version", NEW, ids=str)
def test_it_runs_with_nothing_but_python3(installed: Path, tmp_path: Path, version: tuple[int, int]) -> None:
    """The commands that need the most packages run with the oldest and the newest Python."""
    path, home = path_of(tmp_path / "bin", python3=pythons()[version]), tmp_path / "home"
    plan = run(installed, path, home, "drain", "plan", "--demo", "-o", "json")
    assert plan.returncode == 1, plan.stderr
    assert json.loads(plan.stdout)["kind"] == "DrainPlan"
    if version in ENDS:
        table = run(installed, path, home, "drain", "plan", "--demo")
        assert table.returncode == 1 and "Traceback" not in table.stderr
        check = run(installed, path, home, "check", "--demo", "-o", "yaml")
        assert check.returncode in (1, 5), check.stderr
        assert "kind: UpgradeCheck" in check.stdout
    assert list(installed.resolve().parent.rglob("__pycache__")) == [], "byte code belongs into the cache"
    assert any((home / ".cache" / "kubectl-eksdoc").rglob("launch.*.pyc"))


@here_only
@pytest.mark.parametrize("version", NEW, ids=str)
def test_it_says_its_version_at_once(installed: Path, tmp_path: Path, version: tuple[int, int]) -> None:
    """In a tenth of a second, once its byte code is compiled, by the fastest of some runs."""
    path, home = path_of(tmp_path / "bin", python3=pythons()[version]), tmp_path / "home"
    ends_s, fastest_s = time.monotonic() + 30, math.inf
    while fastest_s > 0.1 and time.monotonic() < ends_s:
        begun_s = time.monotonic()
        said = run(installed, path, home, "--version")
        fastest_s = min(fastest_s, time.monotonic() - begun_s)
        assert (said.returncode, said.stdout, said.stderr) == (0, f"kubectl eksdoc {__version__}\n", "")
    assert fastest_s <= 0.1, fastest_s


@here_only
def test_every_entry_point_runs(installed: Path, tmp_path: Path) -> None:
    """krew links the other plugins of the same archive."""
    path, home = path_of(tmp_path / "bin", python3=pythons()[max(NEW)]), tmp_path / "home"
    for plugin in read().plugins:
        program = link(tmp_path / "krew", plugin.name, installed.resolve())
        command = plugin.command.split() if plugin.command else []
        assert run(program, path, home, "-h").stdout == run(installed, path, home, *command, "-h").stdout != ""
        assert run(program, path, home, "--version").stdout == f"kubectl eksdoc {__version__}\n"


@here_only
@pytest.mark.parametrize("version", OLD, ids=str)
def test_an_old_python_finds_a_newer_one(installed: Path, tmp_path: Path, version: tuple[int, int]) -> None:
    """On PATH, it comes after a program of the same name that does not run."""
    newest = max(NEW)
    name = f"python{newest[0]}_{newest[1]}"
    shim = tmp_path / "shim"
    shim.write_text("#!/bin/sh\necho 'pyenv: no such version' >&2\nexit 127\n")
    shim.chmod(0o755)
    first = path_of(tmp_path / "first", python3=pythons()[version], **{name: str(shim)})
    second = path_of(tmp_path / "second", **{name: pythons()[newest]})
    said = run(installed, f"{first}{os.pathsep}{second}", tmp_path / "home", "--version")
    assert (said.returncode, said.stderr) == (0, "") and said.stdout.startswith("kubectl eksdoc ")
    alone = run(installed, first, tmp_path / "home", "--version")
    assert (alone.returncode, alone.stdout, alone.stderr.count("\n")) == (2, "", 1)
    assert alone.stderr.startswith("error: kubectl eksdoc needs CPython 3.10")
    tab = run(installed, first, tmp_path / "home", "__complete", "dr")
    assert (tab.returncode, tab.stdout, tab.stderr) == (1, "", ""), "nothing lands in the line that is typed"


@here_only
def test_beside_a_newer_python_one_that_fits_is_found(installed: Path, tmp_path: Path) -> None:
    major, minor = max(NEW)
    newer = newer_python(tmp_path / "newer", int(PYTHONS[-1].partition(".")[2]) + 1)
    path = path_of(tmp_path / "bin", python3=newer, **{f"python{major}_{minor}": pythons()[max(NEW)]})
    said = run(installed, path, tmp_path / "home", "--version")
    assert (said.returncode, said.stderr) == (0, "") and said.stdout.startswith("kubectl eksdoc ")


@here_only
def test_without_python3_another_one_is_found_or_that_is_said(installed: Path, tmp_path: Path) -> None:
    major, minor = max(NEW)
    path = path_of(tmp_path / "bin", **{f"python{major}_{minor}": pythons()[max(NEW)]})
    said = run(installed, path, tmp_path / "home", "--version")
    assert (said.returncode, said.stderr) == (0, "") and said.stdout.startswith("kubectl eksdoc ")
    none = run(installed, "/nowhere", tmp_path / "home", "--version")
    assert (none.returncode, none.stdout, none.stderr.count("\n")) == (2, "", 1)
    assert none.stderr.startswith("error: kubectl eksdoc needs CPython 3.10 to 3.15 as python3, and there is none")
    tab = run(installed, "/nowhere", tmp_path / "home", "__complete", "dr")
    assert (tab.returncode, tab.stdout, tab.stderr) == (1, "", "")


@pytest.mark.parametrize("name", [name for name in NAMES if name != HERE])
def test_the_archive_of_another_machine_says_so(archives: dict[str, Path], tmp_path: Path, name: str) -> None:
    program = install(archives[name].read_bytes(), tmp_path / "krew", "eksdoc", LAUNCHER)
    path = path_of(tmp_path / "bin", python3=pythons()[max(NEW)])
    said = run(program, path, tmp_path / "home", "drain", "plan", "--demo")
    assert (said.returncode, said.stdout, said.stderr.count("\n")) == (2, "", 1)
    system, _, arch = name.partition("_")
    machine = {"linux": {"amd64": "x86_64", "arm64": "aarch64"}, "darwin": {"amd64": "x86_64", "arm64": "arm64"}}
    assert said.stderr.startswith(
        f"error: this kubectl eksdoc is for {system} {machine[system][arch]}, and python3 is "
    )
    assert "KREW_ARCH" in said.stderr


@here_only
def test_modules_of_somebody_else_are_not_taken(installed: Path, tmp_path: Path) -> None:
    path = path_of(tmp_path / "bin", python3=pythons()[max(NEW)])
    for name in ("yaml", "msgspec", "tabulate", "kubectl_eksdoc"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not ours')\n")
    site = tmp_path / "home" / ".local" / "lib" / f"python3.{max(NEW)[1]}" / "site-packages"
    site.mkdir(parents=True)
    (site / "yaml.py").write_text("raise RuntimeError('not ours')\n")
    for output in ("table", "yaml"):
        words = ("drain", "plan", "--demo", "-o", output)
        plan = run(installed, path, tmp_path / "home", *words, PYTHONPATH=str(tmp_path))
        assert (plan.returncode, "Error" in plan.stderr) == (1, False), plan.stderr


@here_only
def test_what_asks_dns_is_packed_from_it(installed: Path, tmp_path: Path) -> None:
    """With dnspython's licence, which is found by its metadata."""
    lib = installed.resolve().parent / "lib"
    program = (
        f"import io, sys, zipfile; sys.path[:0] = [{str(lib)!r}]\n"
        "from kubectl_eksdoc.host.dns_load_archive import packed\n"
        "open('dns-load.pyz', 'wb').write(packed())\n"
        "names = zipfile.ZipFile('dns-load.pyz').namelist()\n"
        "sys.exit(not {'dns/LICENSE', 'dns/message.py', '__main__.py'} <= {*names})\n"
    )
    python = pythons()[max(NEW)]
    done = subprocess.run([python, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    asked = subprocess.run([python, "-I", "dns-load.pyz", "--plan", "{"], cwd=tmp_path, capture_output=True, text=True)
    assert "ModuleNotFoundError" not in asked.stderr and asked.returncode != 0


@here_only
def test_the_sdks_are_whole(installed: Path, tmp_path: Path) -> None:
    """Clients for every AWS service in use can be created, and clients of the cluster."""
    lib = installed.resolve().parent / "lib"
    program = (
        f"import sys; sys.path[:0] = [{str(lib)!r}]\n"
        "import boto3, kubernetes, kubernetes.config, textual.app, kubectl_eksdoc.tui.app\n"
        f"for each in {sorted(SERVICES)!r}: boto3.client(each, region_name='eu-west-1')\n"
    )
    python = pythons()[max(NEW)]
    done = subprocess.run([python, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
