"""Reading commands, with exactly the role and the policy that ``permissions`` prints for each, and without each single
right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.rights import RightNamespaces, commands
from kubectl_eksdoc.embedded.serving.requests import Action
from kubectl_eksdoc.model.permissions import OPT_INS
from kubectl_eksdoc.permissions.command.rights import read_only_commands, required_permissions, without_flags
from tests.aws.test_live import prod
from tests.cli.running import Ran
from tests.permissions.command.answers import (
    BUG,
    is_unknown_without,
    named,
    problems,
    verdicts,
    without_times,
)
from tests.permissions.command.granted_users import Held, Watched, printed, unregistered
from tests.permissions.command.policies import CALLED, allow, asks_aws, calls, policy
from tests.permissions.command.served_users import NAME, Desk, desk
from tests.permissions.command.sites import LINES, MADE, Line, of_version

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
EVERYTHING = (Held("*", "*", "*"), Held("*", "/metrics"))
FLEETS = {"check --fleet", "addon-diff --fleet", "imds-probe --fleet"}


@contextmanager
def at(place: str, aws: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with MADE[place](aws).served() as site:
        yield desk(site, aws, folder, monkeypatch)


@cache
def required(command: str) -> frozenset[str]:
    """The required rights, by their printed names."""
    return frozenset(
        {
            each.permission.scoped_right
            for each in required_permissions([without_flags(command)], RightNamespaces()).rights
            if each.required
        }
    )


def was_asked(right: Held, asked: list[Action]) -> bool:
    return any(right.allows(action) for action in asked)


def test_every_command_that_reads_is_run() -> None:
    """In each of its clusters a fleet needs the same rights as the command in one."""
    assert {line.command for line in LINES} | FLEETS == {name for each in read_only_commands() for name in each.names}
    for fleet in FLEETS:
        assert printed(fleet) == printed(fleet.removesuffix(" --fleet"))


def test_each_right_that_is_printed_is_used_by_a_line() -> None:
    """At least one line of each command, or of the commands with the same role, uses it. Each line declares the rights
    that it does not use, and a test below checks that; lists that an upgrade path rarely needs are in the long test."""
    with_all = f"--with {','.join(each.name for each in OPT_INS)}"
    roles = {line.command: printed(f"{line.command} {with_all}") for line in LINES}
    for command, whole in roles.items():
        lines = [line for line in LINES if roles[line.command] == whole]
        used = {right.said for line in lines for right in printed(line.role) if right.said not in line.never}
        of_ways = {right.said for right in printed(WAYS[command]) if right.verb == "list"} if command in WAYS else set()
        assert {right.said for right in whole} - used <= of_ways, command


def test_each_action_that_is_printed_is_asked_for_by_a_line() -> None:
    """The actions of AWS; each line declares those that it does not call, and a test below checks that. Snapshots: the
    long test."""
    for command in {line.command for line in LINES if asks_aws(line)} - {"snapshot"}:
        lines = [line for line in LINES if line.command == command]
        asked = {action for line in lines for action in policy(line.role) - {*line.unasked}}
        of_check = policy("check") if command in rights.ADDITIVE else set()
        assert policy(command) - of_check - asked == set(), command


_LEFT_OUT = "--without helm-releases,proxy"
WAYS = {
    "check": f"check --target 1.37 {_LEFT_OUT}",
    "check --changed-since": f"check --target 1.37 --changed-since 1h {_LEFT_OUT}",
    "snapshot": f"snapshot FILE --overwrite {_LEFT_OUT}",
}
"""What is looked at depends on the versions between which the way leads."""


@pytest.mark.long
@pytest.mark.parametrize("command", WAYS)
def test_each_list_that_is_printed_is_asked_for_on_some_way(
    command: str, aws: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the oldest version to the one after the newest known version."""
    role, asked = printed(WAYS[command]), list[Action]()
    for version in ("1.21", "1.25", "1.29", "1.33", "1.36"):
        folder = tmp_path / version
        folder.mkdir()
        with of_version(version)(aws).served() as site:
            ran, who = desk(site, aws, folder, monkeypatch).run(WAYS[command], role)
        assert ran.out, ran.err
        assert unregistered(who.asked, role) == []
        asked += who.asked
    of_addons = set(map(str, commands.ADDON_DIFF))  # these clusters have none: the line at the site rich asks for them
    lists = [right for right in role if right.verb == "list" and not right.namespace and right.said not in of_addons]
    assert [right.said for right in lists if not was_asked(right, asked)] == []


@pytest.mark.long
def test_each_action_of_a_snapshot_is_asked_for_on_some_site(
    prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = set[str]()
    for place in MADE:
        prod.reset()
        (tmp_path / place).mkdir()
        if place != "rich":
            role = "arn:aws:iam::111122223333:role/reader"
            of = {"version": "1.29", "roleArn": role, "resourcesVpcConfig": {"subnetIds": ["subnet-1"]}}
            prod.client("eks").create_cluster(name=NAME, **of)
            with at(place, prod, tmp_path / place, monkeypatch) as ann:
                ann.run("snapshot FILE --overwrite -o json", EVERYTHING)
                asked |= calls(prod)
    (of_all,) = (line for line in LINES if line.command == "snapshot")
    left = {action for action in policy("snapshot") if CALLED[action] not in asked}
    assert left <= policy("snapshot") - {*of_all.unasked}


SAMPLE = ("drain plan", "interruption")
"""Of these a right is removed in the quick tests too."""


IN_THREE = [
    pytest.param(place, part, marks=[pytest.mark.long] * (part > 0 or place == "rich"))
    for place in MADE
    for part in range(3)
    if [line for line in LINES if line.at == place][part:]
]


@pytest.mark.parametrize(("place", "part"), IN_THREE)
def test_its_role_and_its_policy_are_enough_and_nothing_else_is_asked(
    place: str, part: int, prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command, once, with these rights and no others; a third of the commands of each site at a time, the first
    third in the quick tests."""
    lines = [line for line in LINES if line.at == place][part::3]
    with at(place, prod, tmp_path, monkeypatch) as ann:
        found = [f"{line}: {each}" for line in lines for each in with_its_rights(ann, line)]
    assert found == [], "\n".join(found)


def with_its_rights(ann: Desk, line: Line) -> Iterator[str]:
    """The faults; for the sample, also without a right that every answer needs, and without one of the others."""
    role, actions = printed(line.role), policy(line.role) if asks_aws(line) else set(CALLED)
    allow(ann.aws, actions)
    ann.aws.forget_calls()
    ran, who = ann.run(line.words, role)
    asked = calls(ann.aws)
    if not ran.out or "is forbidden" in ran.out + ran.err or "is not authorized" in ran.out + ran.err:
        yield f"exit code {ran.code}: {ran.err[-300:]}"
    yield from (f"not in its role: {each}" for each in unregistered(who.asked, role))
    never = {right.said for right in role if not was_asked(right, who.asked)}
    if never != line.never.keys():
        yield f"rights that are not asked for: {never ^ line.never.keys()}"
    if (asks_aws(line) and not asked) or not asked <= {CALLED[action] for action in actions}:
        yield f"asked of AWS: {sorted(asked)}"
    unasked = {action for action in actions if CALLED[action] not in asked} if asks_aws(line) else set()
    if unasked != line.unasked.keys():
        yield f"actions that are not asked for: {unasked ^ line.unasked.keys()}"
    if line.command in SAMPLE:
        needed = required(line.command)
        of_each = [[each for each in role if (each.said in needed) is wanted] for wanted in (True, False)]
        yield from removed_in_turn(ann, line, [each[len(each) // 2] for each in of_each if each], (ran, who))
    ann.aws.allow()


def removed_in_turn(ann: Desk, line: Line, rights: list[Held], as_it_is: tuple[Ran, Watched]) -> list[str]:
    """The faults without each of `rights`."""
    role, needed = printed(line.role), required(line.command)
    whole, who = as_it_is
    found = []
    for right in rights:
        # A command that follows a drain accepts a refusal only after a while: rights come and go with tokens.
        longest_s = 30.0 if right.said in needed else 0.3
        fewer, other = ann.run(line.words, [each for each in role if each != right], longest_s)
        more = [str(each) for each in unregistered(other.asked, role)]
        if was_asked(right, [*who.asked, *other.asked]):
            more += problems(whole, fewer, right, right.said in needed)
        elif (fewer.code, verdicts(fewer)) != (whole.code, verdicts(whole)):
            more.append("it is not asked for, and the answer is another one")
        found += [f"without {right.said}: {each}" for each in more]
    return found


AT_ONCE = 36
"""So many rights are removed together before any is removed alone."""


def to_remove_alone(ann: Desk, line: Line, rights: list[Held], as_it_is: tuple[Ran, Watched]) -> list[Held]:
    """Those of `rights` that a run without several does not settle: the required ones, and others with an unexpected
    result.

    Most are settled by a finding that is unknown because they are missing. The remaining ones are then removed
    together: each has to be named somewhere, and each failed finding has to fail still. Unused rights change nothing.
    """
    (whole, who), role, needed = as_it_is, printed(line.role), required(line.command)
    optional = [each for each in rights if each.said not in needed]
    asked = [each for each in optional if was_asked(each, who.asked)]
    others = [each for each in optional if each not in asked]

    def without(group: list[Held]) -> tuple[Ran, bool]:
        """The faults without the right, and whether the run has no internal error and sends no other requests."""
        fewer, other = ann.run(line.words, [each for each in role if each not in group], 0.3)
        return fewer, fewer.code != BUG and not unregistered(other.asked, role)

    silent, groups = list[Held](), -(-len(asked) // AT_ONCE)
    for group in [asked[at::groups] for at in range(groups)]:  # neighbours are of the same checks
        fewer, fine = without(group)
        silent += [each for each in group if not (fine and is_unknown_without(each.said, fewer))]
    if silent:
        fewer, fine = without(silent)
        fails = {each for each in verdicts(whole) if each[1] == "fail"}
        fine = fine and bool(fewer.code or not whole.code) and fails <= {*verdicts(fewer)}
        silent = [each for each in silent if not (fine and named(each, fewer))]
    if others:
        fewer, fine = without(others)
        others = [] if fine and (fewer.code, verdicts(fewer)) == (whole.code, verdicts(whole)) else others
    return [each for each in rights if each in silent or each in others or each.said in needed]


@pytest.mark.long
@pytest.mark.parametrize("line", LINES, ids=str)
def test_every_right_that_is_missing_is_named(
    line: Line, prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a user with all rights gets no finding that a user with the printed ones does not get."""
    opted = f"{line.like} --with {','.join(each.name for each in OPT_INS)}"
    tried = {each.said for each in printed(opted)} - required(line.command) if line.like else set()
    rights = [each for each in printed(line.role) if each.said not in tried | set(line.not_lost)]
    with at(line.at, prod, tmp_path, monkeypatch) as ann:
        all_of_it, _ = ann.run(line.words, EVERYTHING)
        ran, who = ann.run(line.words, printed(line.role))
        found = removed_in_turn(ann, line, to_remove_alone(ann, line, rights, (ran, who)), (ran, who))
    assert (ran.code, without_times(ran)) == (all_of_it.code, without_times(all_of_it))
    assert found == [], "\n".join(found)
