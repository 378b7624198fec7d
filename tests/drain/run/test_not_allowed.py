"""Evictions that are not allowed, or not accepted: once may be chance; what goes on is said, and then believed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, Details, StatusCause
from kubectl_eksdoc.kubernetes.news import News, PodGone, RequestAnswered
from kubectl_eksdoc.model.acts import Act, Evict
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node
from tests.drain.run.driving import Answering, Driven

UNAUTHORIZED = ApiStatus(401, "Unauthorized", "Unauthorized")
NO_RIGHT = ApiStatus(
    403,
    "Forbidden",
    'pods "bad-1" is forbidden: User "u" cannot create resource "pods/eviction" in API group "" in the namespace '
    '"default"',
)
QUOTA = ApiStatus(403, "Forbidden", 'pods "bad-1" is forbidden: node isolation does not let it go')
BEHIND = ApiStatus(
    403, "Forbidden", 'poddisruptionbudget.policy "bad" is forbidden: pdb disruptions allowed is negative'
)
TERMINATING = ApiStatus(403, "Forbidden", "terminating", Details(causes=(StatusCause("NamespaceTerminating", ""),)))
DENIED = ApiStatus(403, "Forbidden", 'admission webhook "w" denied the request: not now')


def granted(act: Evict) -> list[News]:
    return [RequestAnswered(act, ApiStatus(201)), PodGone(act.pod.uid, 10_000)]


def answering(answer: ApiStatus, times: int) -> Answering:
    """The first evictions of pods called bad-* are answered so; all others are granted, and their pods go at once."""
    asked: list[Act] = []

    def evicted(act: Act) -> News | list[News]:
        assert isinstance(act, Evict)
        if not act.pod.name.startswith("bad-"):
            return granted(act)
        asked.append(act)
        return RequestAnswered(act, answer) if len(asked) <= times else granted(act)

    return evicted


def driven(answer: ApiStatus, times: int, limits: RunLimits = RunLimits(), *, bad: int = 1) -> Driven:
    """One bad pod on old-0, or several on as many nodes; and good ones on the last node."""
    nodes = [*(a_node(f"old-{i}") for i in range(bad + 1)), a_roomy_node()]
    pods = [a_pod(f"bad-{i + 1}", node=f"old-{i}", labels={"app": "bad"}) for i in range(bad)]
    pods += [a_pod(f"web-{i}", node=f"old-{bad}") for i in range(3)]
    budgets = [a_budget("bad", max_unavailable=9, allowed=9, expected=20)]
    cluster = a_cluster(nodes=nodes, pods=pods, budgets=budgets)
    return Driven(cluster, limits=limits, Evict=answering(answer, times))


def asked_s(run: Driven) -> list[float]:
    return [at_s for at_s, act in run.asked if isinstance(act, Evict) and act.pod.name == "bad-1"]


@pytest.mark.parametrize(
    "answer", [UNAUTHORIZED, NO_RIGHT, QUOTA, BEHIND, TERMINATING, DENIED], ids=lambda each: each.code
)
@pytest.mark.parametrize("times", [1, 3])
def test_what_passes_decides_over_nothing(answer: ApiStatus, times: int) -> None:
    run = driven(answer, times)
    run.to_the_end()
    assert run.engine.undone == {} and not run.told(Happened.KEPT) and not run.told(Happened.LEFT_ALONE)
    assert len(run.told(Happened.REFUSED)) == times, "each is told"
    assert all(later - sooner >= 4.0 for sooner, later in pairwise(asked_s(run)))


def test_a_right_that_is_missing_is_named_after_a_few_tries() -> None:
    run = driven(NO_RIGHT, 10_000)
    run.to_the_end()
    assert asked_s(run) == [0.0, 10.0, 20.0, 30.0]
    (kept,) = run.told(Happened.KEPT)
    assert kept[1].startswith("no right to create pods/eviction in namespace default, 4 times within 30s: pods")
    assert run.engine.undone == {"old-0": ("default/bad-1",)}, "the rest goes on"
    assert "asked for again" in run.told(Happened.REFUSED)[0][1]


def test_a_right_that_comes_and_goes_is_not_missing_for_good() -> None:
    """Only what is said in a row counts."""
    said = [NO_RIGHT, NO_RIGHT, NO_RIGHT, DENIED, NO_RIGHT, NO_RIGHT]
    run = driven(NO_RIGHT, 0)

    def evicted(act: Act) -> News | list[News]:
        assert isinstance(act, Evict)
        return RequestAnswered(act, said.pop(0)) if act.pod.name == "bad-1" and said else granted(act)

    run.answers["Evict"] = evicted
    run.to_the_end()
    assert not said and run.engine.undone == {}


def test_credentials_that_nobody_accepts_are_no_single_pods_matter() -> None:
    """It is held, and stops in the end: no node is left alone for it."""
    run = driven(UNAUTHORIZED, 10_000, RunLimits(failing_s=200), bad=8)
    run.to_the_end()
    assert not run.told(Happened.LEFT_ALONE)
    (held, *_), (stopped,) = run.told(Happened.HELD), run.told(Happened.STOPPED)
    assert "answers are errors" in held[1] and "the server answers with errors for" in stopped[1]
    assert "Unauthorized" in stopped[1]


def test_a_budgets_controller_that_stays_behind_is_an_alarm() -> None:
    run = driven(BEHIND, 10_000)
    run.until(299.0)
    assert not run.told(Happened.WARNED)
    run.to_the_end()
    (warned,) = run.told(Happened.WARNED)
    assert warned[0] == "default/bad-1" and "has been behind for 5m00s" in warned[1] and "negative" in warned[1]
    (kept,) = run.told(Happened.KEPT)
    assert "for 30m00s" in kept[1]
    assert min(later - sooner for sooner, later in pairwise(asked_s(run))) == 30.0
