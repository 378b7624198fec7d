"""What an answer says of who we are and what we may, and the clock that a lock is measured with."""

from __future__ import annotations

import time

import pytest

from kubectl_eksdoc.errors import Forbidden, Unauthorized
from kubectl_eksdoc.kube.sent import SentRequest, awake_and_asleep, real_clock, refused
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer

RBAC = 'configmaps is forbidden: User "eve" cannot create resource "configmaps" in API group "" in the namespace "x"'


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ApiStatus(403, "Forbidden", RBAC), Forbidden),
        (ApiStatus(401, "Unauthorized", "Unauthorized"), Unauthorized),
        (ApiStatus(403, "Forbidden", 'admission webhook "guard" denied the request: not today'), None),
        (
            ApiStatus(403, "Forbidden", "unable to create new content in namespace x because it is being terminated"),
            None,
        ),
        (ApiStatus(409, "Conflict", "x"), None),
        (ApiStatus(201), None),
        (LostAnswer("reset"), None),
    ],
    ids=str,
)
def test_only_a_missing_right_is_one(answer: ApiStatus | LostAnswer, error: type[Exception] | None) -> None:
    found = refused(SentRequest(answer, {}), "create configmaps", "x")
    assert (None if found is None else type(found)) is error
    if isinstance(found, Forbidden):
        assert found.missing == "create configmaps" and "-n x" in found.hint


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux has one that stands still in suspend")
def test_the_clock_goes_on_while_the_machine_sleeps() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    now = awake_and_asleep()
    assert before <= now <= time.clock_gettime(time.CLOCK_BOOTTIME)
    assert real_clock().monotonic() >= now
