"""The first cases of the fuzzer: no dump, snapshot or Terraform plan makes a command fail with a bug or hang."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.cli import streams
from kubectl_eksdoc.cli.flags import REFUSED_FLAGS, SUPPORTED_FLAGS
from kubectl_eksdoc.cli.main import command_parser
from tests.cli.running import FakeSource, run_cli
from tests.contracts.source import ROOT
from tools.fuzz import CLUSTERS, TOO_LONG, case, recorded, terraform

CASES = 120


@pytest.mark.long
def test_changed_input_is_answered_or_refused(tmp_path: Path) -> None:
    """It runs in a separate process, because it uses the signal of its timer."""
    log = tmp_path / "log"
    command = [sys.executable, "-m", "tools.fuzz", "--cases", str(CASES), "--log", str(log)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    codes = Counter(code for _, _, code, _ in rows)
    assert len(rows) == CASES and not codes[70] and not codes[TOO_LONG]
    beyond = {command for _, command, code, _ in rows if code != 2}
    assert len(beyond) == 8, "each command gets beyond its refusals"


def test_a_case_is_told_by_its_seed_and_number() -> None:
    small = recorded(CLUSTERS / "small-traps.tar.gz")
    bases = (terraform(), small, small)
    for number in (0, 5, 10):
        first, again = case(1, number, bases), case(1, number, bases)
        assert (
            first == again and first.notes and first.changed != {name: first.base.files[name] for name in first.changed}
        )
    assert case(2, 0, bases) != case(1, 0, bases)


FLAGS = sorted(
    (
        command_parser().long_flags()
        | {name for flag in SUPPORTED_FLAGS for name in flag.names}
        | set(" ".join(REFUSED_FLAGS).split())
    )
    - {"--debug"}
)
VALUES = [
    "",
    "x",
    "old-0",
    "node/old-0",
    "a=b",
    "a in (b",
    "-1",
    "0",
    "30s",
    "v1.33",
    "true",
    "false",
    "json",
    "yml",
    "-",
]

words = st.one_of(
    st.sampled_from(["drain", "plan", "options", "--", "-", *VALUES]),
    st.sampled_from(FLAGS),
    st.builds("{}={}".format, st.sampled_from(FLAGS), st.sampled_from(VALUES)),
    st.text(max_size=6),
)


def answered(argv: list[str], plan: bool) -> None:
    ran = run_cli(*(["drain", "plan"] if plan else []), *argv, source=FakeSource())
    assert ran.code in streams.MEANINGS
    assert ran.code != streams.BUG, ran.err
    assert "Traceback" not in ran.err
    if ran.code == streams.USAGE:
        assert ran.out == ""
        assert ran.err
    assert "\x1b" not in ran.err


@pytest.mark.long
@settings(max_examples=90)
@given(st.lists(words, max_size=7), st.booleans())
def test_any_words(argv: list[str], plan: bool) -> None:
    answered(argv, plan)
