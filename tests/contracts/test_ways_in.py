"""README, CONTRIBUTING, `make help`, the Makefile's targets and the commands of CI agree."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests import required_programs
from tests.contracts.source import ROOT

FIRST = ["demo", "test", "test-long", "check", "bench"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def phony() -> list[str]:
    (line,) = re.findall(r"^\.PHONY: (.*)$", text("Makefile"), re.MULTILINE)
    return [target for target in line.split() if target not in ("help", "FORCE")]


def commands(name: str) -> list[str]:
    """The targets of the lines `make …`, in their order."""
    return re.findall(r"^\s*make ([a-z-]+)", text(name), re.MULTILINE)


def test_every_target_has_a_rule_and_is_explained() -> None:
    rules = re.findall(r"^([a-z-]+):(?! [A-Z]+ =)", text("Makefile"), re.MULTILINE)
    assert [target for target in rules if target != "help"] == phony()
    assert re.findall(r'@echo "make ([a-z-]+) ', text("Makefile")) == phony()
    assert set(FIRST) <= set(phony())


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", ".ci/run", "docs/architecture.md"])
def test_pages_speak_of_targets_that_are_there(page: str) -> None:
    spoken = {*commands(page), *re.findall(r"`make ([a-z-]+)", text(page))}
    assert spoken <= set(phony())


def test_the_readme_sets_up_with_two_commands() -> None:
    assert commands("README.md")[:2] == ["demo", "test"]


def test_ci_runs_everything_in_order_and_lets_nothing_be_skipped() -> None:
    script = text(".ci/run")
    assert commands(".ci/run") == ["check", "test", "test-long", "bench"]
    assert "make bench QUICK=1" in script
    assert script.index("\nset -eu\n") < script.index("\nexport EKSDOC_CI=1\n") < script.index("\nmake ")
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_ci_is_a_script_that_any_sh_reads() -> None:
    assert subprocess.run(["/bin/sh", "-n", str(ROOT / ".ci" / "run")], check=False).returncode == 0


def test_make_reads_every_target() -> None:
    """A dry run only prints the commands."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    command = [required_programs.found("make"), "--dry-run", *phony()]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r'-m pytest -q .*--workers [0-9]+ -m "long or hypothesis"', done.stdout)
    assert "tools.documents --check" in done.stdout


def test_files_and_names_that_the_recipes_tell_are_there() -> None:
    """A field of `RunLimits` is added in the file that has `RunLimits`."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:\w+/)+[\w.<>-]*\.(?:py|json|cfg))`", page))
    assert len(paths) > 20
    places = {path: [top / path for top in (ROOT, ROOT / "kubectl_eksdoc") if (top / path).exists()] for path in paths}
    assert [path for path, found in places.items() if not found and "<" not in path] == []
    told = re.findall(r"`(\w+)`(?: of pods)? (?:of|in|\() ?\(?`((?:\w+/)+\w+\.py)`", page)
    assert len(told) > 4
    assert [(name, path) for name, path in told if name not in places[path][0].read_text(encoding="utf-8")] == []
