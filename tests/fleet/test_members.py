"""Requests to many clusters: a limited number at once, to all of them, and no new one after a signal to end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kubectl_eksdoc.fleet.members import check_fleet
from kubectl_eksdoc.model.cluster import FleetMember, Identity, MemberOutcome
from tests.fleet.answers import a_member, an_answer, refused

MEMBERS = [a_member(f"m{number}") for number in range(7)]


def whose(member: FleetMember) -> Identity:
    return Identity(member.context, account="111122223333")


class Lazy:
    """A runner that answers the last started member first, and one at a time; or fails."""

    def __init__(self, breaks: bool = False) -> None:
        self.asked: list[FleetMember] = []
        self.most = 0
        self.closed = False
        self.begun: list[str] = []
        self._breaks = breaks

    def start(self, member: FleetMember) -> None:
        self.asked.append(member)
        self.begun.append(member.name)
        self.most = max(self.most, len(self.asked))

    def finished(self, wait_s: float) -> Sequence[tuple[FleetMember, MemberOutcome]]:
        if self._breaks:
            raise RuntimeError("a bug")
        return [(self.asked.pop(), an_answer())]

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("at_once", "most"), [(1, 1), (3, 3), (64, 7)])
def test_all_are_asked_and_so_many_at_once(at_once: int, most: int) -> None:
    asking = Lazy()
    seen: list[tuple[int, int]] = []
    plan = check_fleet(MEMBERS, asking, at_once, lambda: 0, lambda done, names: seen.append((done, len(names))), whose)
    assert {row.member for row in plan.rows} == set(MEMBERS)
    assert (asking.most, asking.closed) == (most, True)
    assert asking.begun == [member.name for member in MEMBERS], "in their order"
    assert seen[0] == (0, most) and seen[-1] == (6, 1)


def test_told_to_end_nobody_is_asked_any_more() -> None:
    asking = Lazy()
    with pytest.raises(KeyboardInterrupt):
        check_fleet(MEMBERS, asking, 2, lambda: len(asking.begun) > 3, lambda *_: None, whose)
    assert asking.closed and len(asking.begun) == 4


def test_a_bug_leaves_nobody_behind() -> None:
    asking = Lazy(breaks=True)
    with pytest.raises(RuntimeError):
        check_fleet(MEMBERS, asking, 2, lambda: 0, lambda *_: None, whose)
    assert asking.closed


def test_of_one_that_does_not_answer_it_is_known_who_it_is() -> None:
    class Refusing(Lazy):
        def finished(self, wait_s: float) -> Sequence[tuple[FleetMember, MemberOutcome]]:
            return [(self.asked.pop(), refused())]

    (row,) = check_fleet(MEMBERS[:1], Refusing(), 1, lambda: 0, lambda *_: None, whose).rows
    assert row.outcome.who == Identity("m0", account="111122223333")
