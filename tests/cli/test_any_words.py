"""Whatever words are given, the answer is an exit code that is explained, never a bug and never a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.cli import exits
from kubectl_eksdoc.cli.flags import HONOURED, REFUSED
from kubectl_eksdoc.cli.main import tree
from tests.cli.running import FakeSource, run_cli

FLAGS = sorted(
    (tree().long_flags() | {name for flag in HONOURED for name in flag.names} | set(" ".join(REFUSED).split()))
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
    assert ran.code in exits.MEANINGS
    assert ran.code != exits.BUG, ran.err
    assert "Traceback" not in ran.err
    if ran.code == exits.USAGE:
        assert ran.out == ""
        assert ran.err
    assert "\x1b" not in ran.err


@pytest.mark.long
@settings(max_examples=200)
@given(st.lists(words, max_size=7), st.booleans())
def test_any_words(argv: list[str], plan: bool) -> None:
    answered(argv, plan)
