"""Each command that asks AWS, with exactly the actions of the policy that ``permissions`` prints, and without each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kubectl_eksdoc.core.model.aws import questions
from tests.aws.test_live import prod
from tests.cli.permissions.answers import BUG, better
from tests.cli.permissions.desk import Desk
from tests.cli.permissions.granted import printed
from tests.cli.permissions.sites import LINES, Line
from tests.cli.permissions.test_reading import at
from tests.cli.running import Ran, run_cli

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
CALLED = {action: f"{each.service}:{each.operation}" for each in questions.ALL for action in each.actions}
"""As botocore names what an action of IAM allows."""
ASKING = [line for line in LINES if not line.command.startswith(("drain", "rehearse"))]


def policy(command: str) -> set[str]:
    ran = run_cli("permissions", *command.split(), "--iam")
    assert ran.code == 0, ran.err
    return {action for each in json.loads(ran.out)["Statement"] for action in each["Action"]}


def allow(aws: World, actions: set[str]) -> None:
    """These and no others."""
    aws.deny(*(call for action, call in CALLED.items() if action not in actions))


def runs(ann: Desk, line: Line) -> Ran:
    return ann.run(line.words, printed(line.command))[0]


def calls(aws: World) -> set[str]:
    free = {f"{each.service}:{each.operation}" for each in questions.ALL if each.free}
    return {f"{each.service}:{each.operation}" for each in aws.calls} - free


def problems(whole: Ran, fewer: Ran, action: str) -> list[str]:
    """What is wrong with an answer for which the action was asked, and denied: it is named, whatever rests on it, and
    nothing is clean that was not."""
    if fewer.code == BUG or "Traceback" in fewer.err:
        return [f"without {action}: a bug: {fewer.err[-300:]}"]
    found = [] if action in fewer.out + fewer.err else ["it is nowhere named", *better(whole, fewer)]
    found += ["its exit code is 0"] if whole.code and not fewer.code else []
    return [f"without {action}: {each}" for each in found]


@pytest.mark.parametrize("line", ASKING, ids=str)
def test_its_policy_is_enough_and_nothing_else_is_asked(
    line: Line, prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = policy(line.command)
    with at(line, prod, tmp_path, monkeypatch) as ann:
        allow(prod, allowed)
        ran = runs(ann, line)
        asked = calls(prod)
    assert asked and asked <= {CALLED[action] for action in allowed}
    assert ran.out and "is not authorized" not in ran.out + ran.err, ran.err


def removed_in_turn(ann: Desk, line: Line, actions: list[str]) -> list[str]:
    whole, found = runs(ann, line), []
    for action in actions:
        ann.aws.deny(CALLED[action])
        fewer = runs(ann, line)
        ann.aws.allow()
        found += problems(whole, fewer, action)
    return found


@pytest.mark.long
@pytest.mark.parametrize("line", [line for line in ASKING if not line.like], ids=str)
def test_every_action_that_is_missing_is_named(
    line: Line, prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those that are asked for here; the others are denied in tests/aws/test_live."""
    with at(line, prod, tmp_path, monkeypatch) as ann:
        runs(ann, line)
        asked = calls(prod)
        actions = {action for action, call in CALLED.items() if call in asked}
        found = removed_in_turn(ann, line, sorted(actions))
    assert found == [], "\n".join(found)
