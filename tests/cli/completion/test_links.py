"""``completion install``, ``uninstall`` and ``status`` in folders with the layouts of krew, pip and others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.running import Ran, called
from tests.fakes.programs import program

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links")


@pytest.fixture
def krew(tmp_path: Path) -> Path:
    """krew's bin folder: links into its store."""
    store, folder = tmp_path / "store" / "eksdoc", tmp_path / "bin"
    store.mkdir(parents=True)
    folder.mkdir()
    script = store / "main.py"
    script.write_text(
        "import os, sys\nsys.argv = [os.environ['AS'], *sys.argv[1:]]\nfrom kubectl_eksdoc.launch import main\nmain()\n"
    )
    text = f'#!/bin/sh\nAS="$0" exec {sys.executable} {script} "$@"\n'
    (store / "kubectl-eksdoc").write_text(text)
    (store / "kubectl-eksdoc").chmod(0o755)
    for name in ("kubectl-eksdoc", "kubectl-eksdoc_drain"):
        (folder / name).symlink_to(store / "kubectl-eksdoc")
    program(folder / "kubectl-other", "true")
    return folder


def of_links(folder: Path, *argv: str, path: str | None = None) -> Ran:
    """Call the command as kubectl does: by the path where kubectl found it."""
    before, sys.argv = sys.argv, [str(folder / "kubectl-eksdoc")]
    try:
        return called(*argv, environ={"PATH": str(folder) if path is None else path})
    finally:
        sys.argv = before


def completion(folder: Path, *words: str, path: str | None = None) -> Ran:
    return of_links(folder, "completion", *words, path=path)


def links(folder: Path) -> dict[str, str]:
    return {path.name: os.readlink(path) for path in folder.glob("kubectl_complete-*") if path.is_symlink()}


BOTH = {
    "kubectl_complete-eksdoc": "kubectl-eksdoc",
    "kubectl_complete-eksdoc_drain": "kubectl-eksdoc_drain",
}


def test_install_links_every_program_that_is_there(krew: Path) -> None:
    dry = completion(krew, "install", "--dry-run")
    assert dry.code == 0 and dry.out.startswith(f"would make {krew}/kubectl_complete-eksdoc -> kubectl-eksdoc\n")
    assert links(krew) == {}
    done = completion(krew, "install")
    assert (done.code, done.err) == (0, "") and done.out.count("made ") == 2
    assert links(krew) == BOTH
    assert completion(krew, "install").out.count("there already: ") == 2 and links(krew) == BOTH


def test_what_is_not_its_own_is_left_alone(krew: Path) -> None:
    other = krew / "kubectl_complete-eksdoc"
    other.symlink_to("/bin/true")
    (krew / "kubectl_complete-eksdoc_drain").write_text("#!/bin/sh\necho mine\n")
    done = completion(krew, "install")
    assert done.code == 1 and done.out.count("left alone: ") == 2 and os.readlink(other) == "/bin/true"
    status = completion(krew, "status")
    assert status.code == 1 and status.out.count("something else has its name") == 2
    assert completion(krew, "uninstall").out.startswith("nothing to remove") and other.is_symlink()


def test_uninstall_removes_its_own_links_alone(krew: Path) -> None:
    completion(krew, "install")
    (krew / "kubectl-eksdoc_drain").unlink()
    (krew / "kubectl_complete-other").symlink_to("kubectl-other")
    status = completion(krew, "status")
    assert status.code == 1 and "kubectl_complete-eksdoc_drain: a link without its program" in status.out
    dry = completion(krew, "uninstall", "--dry-run=client")
    assert dry.out.count("would remove ") == 2 and len(links(krew)) == 3
    done = completion(krew, "uninstall")
    assert done.code == 0 and done.out.count("removed ") == 2
    assert links(krew) == {"kubectl_complete-other": "kubectl-other"}


def test_scripts_of_pip_are_enough(krew: Path) -> None:
    for name in BOTH:
        (krew / name).write_text("#!/x/python\nfrom kubectl_eksdoc.launch import main\nmain()\n")
    for command in ("install", "status"):
        done = completion(krew, command)
        assert done.code == 0 and done.out.count("as pip installs it") == 2
    assert completion(krew, "uninstall").out.startswith("nothing to remove") and len(list(krew.glob("*complete*"))) == 2


def test_status(krew: Path, tmp_path: Path) -> None:
    missing = completion(krew, "status")
    assert missing.code == 1 and missing.out.count(": missing\n") == 2 and "completion install" in missing.out
    completion(krew, "install")
    found = completion(krew, "status")
    assert found.code == 0 and found.out.count(": a link is there\n") == 2 and "from 1.26 on" in found.out
    off = completion(krew, "status", path="/nowhere")
    assert off.code == 1 and f"{krew} is not on PATH" in off.out
    (tmp_path / "earlier").mkdir()
    first = program(tmp_path / "earlier" / "kubectl_complete-eksdoc", "true")
    assert f"kubectl runs {first}" in completion(krew, "status", path=f"{first.parent}:{krew}").out


def test_mistakes(krew: Path, tmp_path: Path) -> None:
    assert completion(krew, "install", "x").code == 2
    server = completion(krew, "install", "--dry-run=server")
    assert server.code == 2 and "links lie on this machine" in server.err
    assert completion(tmp_path / "gone", "status").code == 2
    if os.geteuid():
        krew.chmod(0o500)
        assert "cannot make" in completion(krew, "install").err
        krew.chmod(0o700)
