"""Each command that reads, with exactly the role that ``permissions`` prints for it, and with each right removed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kubectl_eksdoc.cli.permissions.gathering import Places, reading, wanted
from kubectl_eksdoc.embedded.serving.access import Action
from tests.aws.test_live import prod
from tests.cli.permissions.answers import problems, verdicts, without_times
from tests.cli.permissions.desk import Desk, desk
from tests.cli.permissions.granted import Held, printed, unregistered
from tests.cli.permissions.sites import LINES, MADE, Line

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
EVERYTHING = (Held("*", "*", "*"), Held("*", "/metrics"))
FLEETS = {"check --fleet", "addon-diff --fleet", "imds-probe --fleet"}


@contextmanager
def at(line: Line, aws: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with MADE[line.at](aws).served() as site:
        yield desk(site, aws, folder, monkeypatch)


def required(command: str) -> set[str]:
    """Rights as they are said."""
    return {each.permission.said for each in wanted([command], Places("", "")).needed if each.required}


def was_asked(right: Held, asked: list[Action]) -> bool:
    return any(right.allows(action) for action in asked)


def test_every_command_that_reads_is_run() -> None:
    """In each of its clusters a fleet needs what the command needs in one."""
    assert {line.command for line in LINES} | FLEETS == set(reading())
    for fleet in FLEETS:
        assert printed(fleet) == printed(fleet.removesuffix(" --fleet"))


@pytest.mark.parametrize("line", LINES, ids=str)
def test_its_role_is_enough_and_no_other_request_is_sent(
    line: Line, prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = printed(line.command)
    with at(line, prod, tmp_path, monkeypatch) as ann:
        all_of_it, _ = ann.run(line.words, EVERYTHING)
        ran, who = ann.run(line.words, role)
    assert ran.out, ran.err
    assert (ran.code, without_times(ran)) == (all_of_it.code, without_times(all_of_it))
    assert unregistered(who.asked, role) == []
    never = [right.said for right in role if not was_asked(right, who.asked)]
    assert sorted(never) == sorted(line.never)


def removed_in_turn(ann: Desk, line: Line, rights: list[Held]) -> list[str]:
    """What is wrong without each of `rights`."""
    role, needed = printed(line.command), required(line.command)
    whole, who = ann.run(line.words, role)
    found = []
    for right in rights:
        # Who follows a drain believes a refusal after a while: rights come and go with tokens.
        longest_s = 30.0 if right.said in needed else 0.3
        fewer, other = ann.run(line.words, [each for each in role if each != right], longest_s)
        more = [str(each) for each in unregistered(other.asked, role)]
        if was_asked(right, [*who.asked, *other.asked]):
            more += problems(whole, fewer, right, right.said in needed)
        elif (fewer.code, verdicts(fewer)) != (whole.code, verdicts(whole)):
            more.append("it is not asked for, and the answer is another one")
        found += [f"without {right.said}: {each}" for each in more]
    return found


@pytest.mark.parametrize("line", [line for line in LINES if "--attach" not in line.command], ids=str)
def test_a_right_that_is_missing_is_named(
    line: Line, prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that nothing is said without, and one in the middle of the others; all of them in the long tests."""
    role, needed = printed(line.command), required(line.command)
    of_each = [[each for each in role if (each.said in needed) is wanted] for wanted in (True, False)]
    with at(line, prod, tmp_path, monkeypatch) as ann:
        found = removed_in_turn(ann, line, [each[len(each) // 2] for each in of_each if each])
    assert found == [], "\n".join(found)


@pytest.mark.long
@pytest.mark.parametrize("line", LINES, ids=str)
def test_every_right_that_is_missing_is_named(
    line: Line, prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = {each.said for each in printed(line.like)} - required(line.command) if line.like else set()
    rights = [each for each in printed(line.command) if each.said not in tried | set(line.not_lost)]
    with at(line, prod, tmp_path, monkeypatch) as ann:
        found = removed_in_turn(ann, line, rights)
    assert found == [], "\n".join(found)
