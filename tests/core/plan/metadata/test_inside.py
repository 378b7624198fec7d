"""Whose logs are read, and what is found in single pods."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubectl_eksdoc.core.model.aws.asked import Absent, Unknown
from kubectl_eksdoc.core.model.containers import Container, LogOf, Runs
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.metadata.facts import Started
from kubectl_eksdoc.core.plan.metadata.inside import logs_of, seen_in, started_of
from kubectl_eksdoc.core.plan.metadata.symptoms import Seen
from tests.builders import NOW, a_pod

LBC = "eks/aws-load-balancer-controller:v2.13.0"
DENIED = Unknown("no", "get pods/log")


def pod(**more: Any) -> Pod:
    return a_pod("p", namespace="shop", **more)


CRASHING = Container("app", runs=Runs.WAITING, ended_before=True)
AGAIN = Container("app", runs=Runs.RUNNING, ended_before=True)
GOOD = Container("mesh", runs=Runs.RUNNING, ready=True)
NOW_OF, BEFORE = LogOf("shop", "p", "app"), LogOf("shop", "p", "app", previous=True)


@pytest.mark.parametrize(
    ("containers", "logs"),
    [
        ((CRASHING, GOOD), (BEFORE,)),
        ((AGAIN, GOOD), (NOW_OF, BEFORE)),
        ((Container("app", runs=Runs.WAITING), GOOD), ()),
        ((Container("app", runs=Runs.ENDED),), (NOW_OF,)),
        ((GOOD,), (LogOf("shop", "p", "mesh"),)),
        ((), ()),
    ],
)
def test_whose_log_is_read(containers: tuple[Container, ...], logs: tuple[LogOf, ...]) -> None:
    assert logs_of(pod(ready=False), containers, NOW) == logs


def test_one_that_has_run_well_for_long_is_not_judged_by_what_ended_before() -> None:
    ready = Container("app", runs=Runs.RUNNING, ready=True, ended_before=True)
    assert logs_of(pod(ready_at=NOW - timedelta(hours=2), restarted=True), (ready,), NOW) == (NOW_OF,)
    assert logs_of(pod(ready_at=NOW - timedelta(minutes=1), restarted=True), (ready,), NOW) == (NOW_OF, BEFORE)


def test_with_what_the_known_program_was_started() -> None:
    lbc = Container("controller", LBC, ("--aws-region=x",), ("A",), more_variables=True)
    assert started_of((GOOD, lbc)) == Started(("--aws-region=x",), ("A",), True)
    assert started_of((GOOD,)) == Started() and started_of(()) == Unknown("it has no containers")
    assert started_of(DENIED) == DENIED and started_of(Absent("not found")) == Unknown("it is gone: not found")


def test_what_is_seen() -> None:
    text = "all is well\nfailed to get VPC ID: timeout\n"
    found = seen_in((AGAIN,), (NOW_OF, BEFORE), {NOW_OF: "well", BEFORE: text})
    assert isinstance(found, Seen) and found.line == "failed to get VPC ID: timeout"
    assert seen_in((CRASHING,), (BEFORE,), {BEFORE: DENIED}) == DENIED
    both = seen_in((AGAIN,), (NOW_OF, BEFORE), {NOW_OF: text, BEFORE: DENIED})
    assert isinstance(both, Seen), "the other one tells"
    assert seen_in((GOOD,), (NOW_OF,), {NOW_OF: "all is well"}) is None and seen_in((), (), {}) is None
    assert isinstance(seen_in((CRASHING,), (BEFORE,), {}), Unknown)
    assert seen_in(DENIED, (), {}) == DENIED
