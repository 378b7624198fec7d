"""Completion imports only the modules that the cursor position needs; each test starts a process."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import pytest

from tests.contracts.source import ROOT
from tests.contracts.test_start_up import HEAVY

_RUN = """
import json, sys
from kubectl_eksdoc.cli.completion_command import complete
from kubectl_eksdoc.cli.main import main
assert complete(sys.argv[1:], {"HOME": "/nowhere"}).count("\\n") > 1
print(json.dumps(sorted(sys.modules)))
"""


@cache
def loaded(*words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", _RUN, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "words",
    [
        ("",),
        ("drain", "plan", "--"),
        pytest.param(("drain", ""), marks=pytest.mark.long),
        pytest.param(("check", "--gate", ""), marks=pytest.mark.long),
        ("--context", "x", "drain", "run", "--order="),
    ],
    ids=str,
)
def test_commands_flags_and_given_words_load_no_library(words: tuple[str, ...]) -> None:
    modules = loaded(*words)
    assert [name for name in HEAVY if name in modules] == []
    assert [name for name in modules if name.startswith(("kubectl_eksdoc.kube.", "kubectl_eksdoc.aws"))] == []


def test_a_list_of_commands_needs_no_parser() -> None:
    assert "argparse" not in loaded("")


def test_one_command_loads_no_other() -> None:
    modules = loaded("drain", "plan", "--")
    others = ("check", "addon", "metadata", "dns", "interruption", "snapshot", "rights")
    assert [name for name in modules if name.startswith(tuple(f"kubectl_eksdoc.cli.{each}" for each in others))] == []
