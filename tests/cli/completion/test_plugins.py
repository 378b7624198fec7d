"""``plugins link``, ``unlink`` and ``status`` in a folder with krew's layout; and completers of packagers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import required_programs
from tests.cli.completion.test_links import of_links
from tests.cli.running import Ran
from tests.contracts.source import ROOT
from tests.fakes.programs import program

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links")

LINKS = {
    f"kubectl-eksdoc_{each}": "kubectl-eksdoc"
    for each in ("drain", "addon_diff", "imds_probe", "coredns_lameduck", "interruption", "check")
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "kubectl-eksdoc", "true")
    return tmp_path / "bin"


def plugins(folder: Path, *words: str, path: str | None = None) -> Ran:
    return of_links(folder, "plugins", *words, path=path)


def links(folder: Path) -> dict[str, str]:
    return {path.name: os.readlink(path) for path in folder.iterdir() if path.is_symlink()}


def test_links_are_made_once_and_removed(folder: Path) -> None:
    missing = plugins(folder, "status")
    assert missing.code == 1 and missing.out.count(": missing\n") == 6 and "plugins link" in missing.out
    dry = plugins(folder, "link", "--dry-run")
    assert dry.code == 0 and dry.out.count("would make ") == 6 and links(folder) == {}
    made = plugins(folder, "link")
    assert (made.code, made.out.count("made ")) == (0, 6) and links(folder) == LINKS
    assert "kubectl eksdoc completion install" in made.out
    again = plugins(folder, "link")
    assert (again.code, again.out.count("there already: ")) == (0, 6) and links(folder) == LINKS
    assert plugins(folder, "status").code == 0
    assert plugins(folder, "unlink", "--dry-run").out.count("would remove ") == 6 and links(folder) == LINKS
    assert plugins(folder, "unlink").out.count("removed ") == 6 and links(folder) == {}
    assert plugins(folder, "unlink").out.startswith("nothing to remove")


def test_what_others_made_stays(folder: Path) -> None:
    (folder / "kubectl-eksdoc_drain").write_text("#!/x/python\nfrom kubectl_eksdoc.launch import main\nmain()\n")
    (folder / "kubectl-eksdoc_check").write_text("#!/bin/sh\necho mine\n")
    made = plugins(folder, "link")
    assert made.code == 1 and made.out.count("made ") == 4
    assert "kubectl-eksdoc_drain (installed by krew or pip)" in made.out
    assert f"left alone: {folder}/kubectl-eksdoc_check is not a file of this tool" in made.out
    assert plugins(folder, "unlink").out.count("removed ") == 4 and len([*folder.iterdir()]) == 3


def test_mistakes(folder: Path) -> None:
    assert plugins(folder, "link", "drain").code == 2
    assert plugins(folder, "link", "--dry-run=server").code == 2
    off = plugins(folder, "link", path="/nowhere")
    assert f"{folder} is not on PATH" in off.out and links(folder) == LINKS


@pytest.mark.long
def test_completers_of_packagers_complete(tmp_path: Path) -> None:
    """The scripts of ``completions/`` beside the executables, as in a distribution's package."""
    (tmp_path / "main").write_text("from kubectl_eksdoc.launch import main\nmain()\n")
    for name in ("kubectl-eksdoc", "kubectl-eksdoc_drain"):
        (tmp_path / f"{name}.py").write_text(
            f"import sys\nsys.argv[0] = {name!r}\nfrom kubectl_eksdoc.launch import main\nmain()\n"
        )
        program(tmp_path / name, sys.executable, str(tmp_path / f"{name}.py"))
    env = {"PATH": "/bin:/usr/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), **required_programs.BYTECODE}
    for plugin, typed, offered in (("eksdoc", "addon", "addon-diff\t"), ("eksdoc_drain", "pl", "plan\t")):
        shim = tmp_path / f"kubectl_complete-{plugin}"
        shim.write_bytes((ROOT / "completions" / shim.name).read_bytes())
        shim.chmod(0o755)
        done = subprocess.run([str(shim), typed], env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(offered), done.stdout
