"""Each command that calls AWS, without each action of the policy that ``permissions`` prints; test_reading runs it with
exactly that policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.aws.test_live import prod
from tests.cli.running import Ran
from tests.permissions.command.answers import BUG, better, is_unknown_without
from tests.permissions.command.granted_users import printed
from tests.permissions.command.policies import CALLED, asks_aws, calls
from tests.permissions.command.served_users import Desk
from tests.permissions.command.sites import LINES, Line
from tests.permissions.command.test_reading import at

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
AT_ONCE = 6


def runs(ann: Desk, line: Line) -> Ran:
    return ann.run(line.words, printed(line.role))[0]


def problems(whole: Ran, fewer: Ran, action: str) -> list[str]:
    """Faults of an answer for which the action was called, and denied: the action is named, by every fact that needs
    it, and no finding passes that did not pass before."""
    if fewer.code == BUG or "Traceback" in fewer.err:
        return [f"without {action}: a bug: {fewer.err[-300:]}"]
    found = [] if action in fewer.out + fewer.err else ["it is nowhere named", *better(whole, fewer)]
    found += ["its exit code is 0"] if whole.code and not fewer.code else []
    return [f"without {action}: {each}" for each in found]


def without(ann: Desk, line: Line, actions: list[str]) -> Ran:
    ann.aws.deny(*(CALLED[action] for action in actions))
    fewer = runs(ann, line)
    ann.aws.allow()
    return fewer


def removed_in_turn(ann: Desk, line: Line, whole: Ran, actions: list[str]) -> list[str]:
    """As in test_reading, several actions are removed together first, and alone those that no unknown finding names
    then. Neighbours are far apart: without a list, the items in it are not requested."""
    groups = -(-len(actions) // AT_ONCE)
    alone = [
        action
        for group in (actions[at::groups] for at in range(groups))
        for fewer in (without(ann, line, group),)
        for action in group
        if problems(whole, fewer, action) or not is_unknown_without(action, fewer)
    ]
    return [each for action in alone for each in problems(whole, without(ann, line, [action]), action)]


@pytest.mark.long
@pytest.mark.parametrize("line", [line for line in LINES if asks_aws(line) and not line.like], ids=str)
def test_every_action_that_is_missing_is_named(
    line: Line, prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The actions that are called here; the others are denied in tests/aws/test_live."""
    with at(line.at, prod, tmp_path, monkeypatch) as ann:
        whole = runs(ann, line)
        asked = calls(prod)
        actions = {action for action, call in CALLED.items() if call in asked}
        found = removed_in_turn(ann, line, whole, sorted(actions))
    assert found == [], "\n".join(found)
