"""What was asked for once, asked for again by the words that a journal has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.run.new_run import asked_again
from kubectl_eksdoc.cli.run.options import add_between_waves, add_limits, limits_given, words_of
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.wiring.runs import Hooks


@pytest.mark.parametrize(
    "limits",
    [
        RunLimits(),
        RunLimits(hold_s=0.5, pending_s=1.0, not_ready=0, away_s=86400.0, failing_s=2.25, blocked_s=1e6, soak_s=120.0),
    ],
)
@pytest.mark.parametrize("hooks", [Hooks(), Hooks({"before-wave": "-x 'a b'", "after-wave": "exit 0"})])
def test_guards_and_hooks_are_read_back_from_their_words(limits: RunLimits, hooks: Hooks) -> None:
    asked = asked_again(("old-1", *words_of(limits, hooks)), "run r1")
    assert (asked.limits, asked.hooks, asked.targeting.names) == (limits, hooks, ("old-1",))


def test_what_is_said_now_goes_before_what_was_also_a_default() -> None:
    parser = Parser(prog="drain resume")
    add_limits(parser)
    add_between_waves(parser)
    said = limits_given(parser.parse_args(["--soak", "0", "--eviction-timeout", "30m"]))
    assert replace(RunLimits(blocked_s=60.0, soak_s=30.0, not_ready=7), **said) == RunLimits(not_ready=7)
    assert limits_given(parser.parse_args([])) == {}


def test_words_of_another_version_are_said_to_be_so() -> None:
    with pytest.raises(UsageError, match="what run r1 was asked for is not understood"):
        asked_again(("--from-the-future",), "run r1")
