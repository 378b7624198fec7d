"""Help and version load nothing that only a plan needs; each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kubectl_eksdoc import __version__
from tests.contracts.source import ROOT
from tools.registry import read

HEAVY = (
    "kubernetes",
    "urllib3",
    "boto3",
    "botocore",
    "textual",
    "rich",
    "yaml",
    "tabulate",
    "msgspec",
    "difflib",
    "asyncio",
)

_RUN = """
import io, json, sys
from kubectl_eksdoc.cli.main import run
code = run(sys.argv[1:], io.StringIO(), sys.stderr)
print(json.dumps([code, sorted(sys.modules)]))
"""


def loaded(*argv: str) -> tuple[int, set[str]]:
    """The exit code of a command line, and the modules its process has loaded."""
    done = subprocess.run([sys.executable, "-c", _RUN, *argv], cwd=ROOT, capture_output=True, text=True, check=True)
    code, modules = json.loads(done.stdout)
    return code, set(modules)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["drain", "--help"], 0),
        (["drain", "plan", "--help"], 0),
        (["drain", "run", "--help"], 0),
        (["drain", "status", "--help"], 0),
        (["options"], 0),
        (["drain", "plan", "-n", "x"], 2),
    ],
    ids=str,
)
def test_what_needs_no_cluster_loads_no_library(argv: list[str], expected: int) -> None:
    code, modules = loaded(*argv)
    assert code == expected
    assert [name for name in HEAVY if name in modules] == []


_CALLED = """
import io, json, sys
from kubectl_eksdoc.cli.main import main
sys.stdout = io.StringIO()
code = main()
said, sys.stdout = sys.stdout.getvalue(), sys.__stdout__
print(json.dumps([code, said, sorted(sys.modules)]))
"""
_OF_PARSERS = (
    "argparse",
    "dataclasses",
    "kubectl_eksdoc.cli.parser",
    "kubectl_eksdoc.cli.options",
    "kubectl_eksdoc.cli.surroundings",
)


@pytest.mark.parametrize(
    ("binary", "words"),
    [
        *((plugin.binary, ()) for plugin in read().plugins),
        ("kubectl-eksdoc", ("drain", "plan")),
        ("python", ("check",)),
    ],
    ids=str,
)
def test_the_version_of_every_entry_point_loads_no_parser(binary: str, words: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", f"import sys; sys.argv[0] = {binary!r}{_CALLED}", *words, "--version"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    code, said, modules = json.loads(done.stdout)
    assert (code, said) == (0, f"kubectl eksdoc {__version__}\n")
    assert [name for name in (*HEAVY, *_OF_PARSERS) if name in modules] == []


@pytest.mark.parametrize(
    "command", ["check", "addon-diff", "imds-probe", "coredns-lameduck", "interruption", "snapshot"]
)
def test_the_help_of_one_command_loads_no_other(command: str) -> None:
    code, modules = loaded(command, "--help")
    assert code == 0 and not modules & {"kubectl_eksdoc.cli.drain", "kubectl_eksdoc.cli.run.drain"}
    assert [name for name in HEAVY if name in modules] == []


def test_a_plan_of_the_demo_loads_no_sdk() -> None:
    code, modules = loaded("drain", "plan", "--demo", "-o", "json")
    assert code in (0, 1, 5)
    assert "msgspec" in modules, "the check itself must be able to see a library"
    assert [name for name in ("kubernetes", "urllib3", "boto3", "textual", "tabulate", "yaml") if name in modules] == []
    assert [name for name in modules if name.startswith(("botocore", "kubectl_eksdoc.aws"))] == []


_SCREENS = """
import io, json, sys
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.surroundings import Surroundings

class Terminal(io.StringIO):
    def isatty(self):
        return True

def opened(opening):
    import kubectl_eksdoc.tui.app
    print(json.dumps(sorted(sys.modules)))
    return 0

tty = Terminal()
sys.exit(run(sys.argv[1:], tty, tty, around=Surroundings(tty, tty, {"TERM": "xterm"}, stdin=tty, open_screens=opened)))
"""
_NOT_BEFORE_THE_FIRST_PAINT = (
    "kubectl_eksdoc.aws",
    *(name for name in HEAVY if name not in ("textual", "rich", "asyncio", "difflib")),
    "kubectl_eksdoc.cli.drain",
    "kubectl_eksdoc.cli.rehearse",
    "kubectl_eksdoc.cli.run.desk",
    "kubectl_eksdoc.cli.run.drain",
    "kubectl_eksdoc.cli.run.options",
    "kubectl_eksdoc.core.model.cluster",
    "kubectl_eksdoc.core.model.pods",
    "kubectl_eksdoc.core.plan",
    "kubectl_eksdoc.core.sim",
    "kubectl_eksdoc.embedded",
    "kubectl_eksdoc.flows",
    "kubectl_eksdoc.kube",
    "kubectl_eksdoc.render.drain",
    "kubectl_eksdoc.tui.pages",
    "kubectl_eksdoc.tui.reader",
    "kubectl_eksdoc.tui.screen",
    "kubectl_eksdoc.wiring.runs",
    "kubectl_eksdoc.wiring.stages",
)


@pytest.mark.parametrize(
    "argv", [["--demo"], ["--context", "other"], ["--snapshot=dump.tar.gz", "--no-color"]], ids=str
)
def test_the_first_paint_loads_neither_commands_nor_facts_nor_plans(argv: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", _SCREENS, *argv], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = json.loads(done.stdout)
    assert "textual.app" in modules
    assert [name for name in modules if name.startswith(_NOT_BEFORE_THE_FIRST_PAINT)] == []
