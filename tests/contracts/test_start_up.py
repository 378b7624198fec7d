"""Help and version import no module that only a plan needs; each runs in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

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
READERS = (*HEAVY, "tarfile", "kubectl_eksdoc.host.documents")
"""And modules that read files."""

_RUN = """
import io, json, sys
from kubectl_eksdoc.cli.main import run
for line in sys.argv[1:]:
    code = run(line.split(), io.StringIO(), io.StringIO())
    print(json.dumps([line, code, sorted(sys.modules)]))
"""


def loaded(*lines: str) -> Iterator[tuple[str, int, set[str]]]:
    """Each command line with its exit code, and the modules that one process for all has imported by then."""
    done = subprocess.run([sys.executable, "-c", _RUN, *lines], cwd=ROOT, capture_output=True, text=True, check=True)
    for told in done.stdout.splitlines():
        line, code, modules = json.loads(told)
        yield line, code, set(modules)


def test_what_needs_no_cluster_loads_no_library() -> None:
    lines = {
        "--version": 0,
        "--help": 0,
        "drain --help": 0,
        "drain plan --help": 0,
        "drain run --help": 0,
        "drain status --help": 0,
        "options": 0,
        "drain plan -n x": 2,
    }
    unwanted = (*READERS, "kubectl_eksdoc.knowledge")
    found = [(line, code, [name for name in unwanted if name in modules]) for line, code, modules in loaded(*lines)]
    assert found == [(line, code, []) for line, code in lines.items()]


_CALLED = """
import io, json, sys
from kubectl_eksdoc.cli.main import main
sys.stdout = io.StringIO()
told = []
for line in lines:
    sys.argv = line.split()
    sys.stdout.truncate(sys.stdout.seek(0))
    told.append([main(), sys.stdout.getvalue(), sorted(sys.modules)])
sys.stdout = sys.__stdout__
print(json.dumps(told))
"""
_OF_PARSERS = (
    "argparse",
    "dataclasses",
    "kubectl_eksdoc.cli.parser",
    "kubectl_eksdoc.cli.options",
    "kubectl_eksdoc.cli.context",
)


def test_the_version_of_every_entry_point_loads_no_parser() -> None:
    called = [*(plugin.binary for plugin in read().plugins), "kubectl-eksdoc drain plan", "python check"]
    lines = [f"{each} --version" for each in called]
    program = f"lines = {lines!r}{_CALLED}"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert [(code, said) for code, said, _ in told] == [(0, f"kubectl eksdoc {__version__}\n")] * len(lines)
    assert [name for _, _, modules in told for name in (*HEAVY, *_OF_PARSERS) if name in modules] == []


@pytest.mark.parametrize(
    "command",
    [
        "check",
        "snapshot",
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in ("addon-diff", "imds-probe", "coredns-lameduck", "interruption")
        ),
    ],
)
def test_the_help_of_one_command_loads_no_other(command: str) -> None:
    ((_, code, modules),) = loaded(f"{command} --help")
    assert code == 0 and not modules & {"kubectl_eksdoc.drain.command.plan", "kubectl_eksdoc.drain.command.run"}
    assert [name for name in HEAVY if name in modules] == []


def test_a_plan_of_the_demo_loads_no_sdk() -> None:
    ((_, code, modules),) = loaded("drain plan --demo -o json")
    assert code in (0, 1, 5)
    assert "msgspec" in modules, "the check itself must be able to see a library"
    assert [name for name in ("kubernetes", "urllib3", "boto3", "textual", "tabulate", "yaml") if name in modules] == []
    assert [name for name in modules if name.startswith(("botocore", "kubectl_eksdoc.aws"))] == []


def test_the_list_of_commands_loads_none_of_them() -> None:
    for line, code, modules in loaded("--help", "-h"):
        assert code == 0, line
        ours = {name for name in modules if name.startswith("kubectl_eksdoc.cli.")}
        assert ours == {f"kubectl_eksdoc.cli.{name}" for name in _FOR_THE_LIST}
        assert not modules & {"dataclasses", "kubectl_eksdoc.model.connection", *HEAVY}
    ((_, code, modules),) = loaded("drain --help")
    assert code == 0 and not modules & {
        "kubectl_eksdoc.drain.command.plan",
        "kubectl_eksdoc.drain.plan",
    }


_FOR_THE_LIST = ("bare", "commands", "entry_point", "main", "parser", "streams")

_SCREENS = """
import io, json, sys
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.context import CommandContext

class Terminal(io.StringIO):
    def isatty(self):
        return True

def opened(opening):
    import kubectl_eksdoc.tui.app
    print(json.dumps(sorted(sys.modules)))
    return 0

tty = Terminal()
around = CommandContext(tty, tty, {"TERM": "xterm"}, stdin=tty, open_screens=opened)
sys.exit(any(run(line.split(), tty, tty, context=around) for line in sys.argv[1:]))
"""
_NOT_BEFORE_THE_FIRST_PAINT = (
    "kubectl_eksdoc.amazon",
    "kubectl_eksdoc.aws",
    *(name for name in HEAVY if name not in ("textual", "rich", "asyncio", "difflib")),
    "kubectl_eksdoc.drain.command.plan",
    "kubectl_eksdoc.rehearse.command",
    "kubectl_eksdoc.cli.rights",
    "kubectl_eksdoc.drain.command.run_controller",
    "kubectl_eksdoc.drain.command.run",
    "kubectl_eksdoc.drain.command.options",
    "kubectl_eksdoc.model.cluster",
    "kubectl_eksdoc.model.nodes",
    "kubectl_eksdoc.drain.choice",
    "kubectl_eksdoc.drain.nodes",
    "kubectl_eksdoc.drain.judging",
    "kubectl_eksdoc.drain.outcome",
    "kubectl_eksdoc.drain.plan",
    "kubectl_eksdoc.drain.policy",
    "kubectl_eksdoc.drain.report",
    "kubectl_eksdoc.drain.result",
    "kubectl_eksdoc.drain.run",
    "kubectl_eksdoc.drain.pod_verdicts",
    "kubectl_eksdoc.drain.budget_verdicts",
    "kubectl_eksdoc.drain.filter_verdicts",
    "kubectl_eksdoc.simulator",
    "kubectl_eksdoc.embedded",
    "kubectl_eksdoc.kube",
    "kubectl_eksdoc.tui.pages",
    "kubectl_eksdoc.tui.reader",
    "kubectl_eksdoc.tui.screen",
    "kubectl_eksdoc.wiring.runs",
    "kubectl_eksdoc.wiring.stages",
)


def test_the_first_paint_loads_neither_commands_nor_facts_nor_plans() -> None:
    lines = ["--demo", "--context other", "--snapshot=dump.tar.gz --no-color"]
    command = [sys.executable, "-c", _SCREENS, *lines]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    painted = [json.loads(told) for told in done.stdout.splitlines()]
    assert ["textual.app" in modules for modules in painted] == [True] * len(lines)
    assert [name for modules in painted for name in modules if name.startswith(_NOT_BEFORE_THE_FIRST_PAINT)] == []


def test_what_is_not_loaded_is_a_module() -> None:
    assert [name for name in (*READERS, *_OF_PARSERS, *_NOT_BEFORE_THE_FIRST_PAINT) if find_spec(name) is None] == []
