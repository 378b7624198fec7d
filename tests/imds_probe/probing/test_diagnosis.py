"""What answers mean: each way it can go, held against the node's own answers and what EC2 says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.imds_probe.probing.diagnosis import Cause, ProbeDiagnosis, diagnosis
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.metadata import AddressFamily, Ask, FamilyAnswer, ProbeReport, ProbeStep

OK, NO_TOKEN, NO = 200, 401, 403
REFUSED, TIMEOUT, RESET = 7, 28, 56


def answered(ask: Ask, code: int) -> ProbeStep:
    return ProbeStep(ask, 0, code, 0.3, 1.0)


def lost(ask: Ask, exit: int = TIMEOUT) -> ProbeStep:
    return ProbeStep(ask, exit, 0, 0.3, 3000.0)


def unconnected(ask: Ask, exit: int = TIMEOUT) -> ProbeStep:
    return ProbeStep(ask, exit, 0, None, 2000.0)


def seen(*steps: ProbeStep, instance: str = "") -> ProbeReport:
    """The same on both families of addresses."""
    return ProbeReport(FamilyAnswer(steps, instance), FamilyAnswer(steps, instance))


REACHED = seen(*map(answered, Ask, (NO_TOKEN, OK, OK)), instance="i-1")
HOPS = seen(answered(Ask.V1, NO_TOKEN), lost(Ask.TOKEN))
HOPS_V1 = seen(answered(Ask.V1, OK), lost(Ask.TOKEN), instance="i-1")
SILENT = seen(unconnected(Ask.V1), unconnected(Ask.TOKEN))
NO_ROUTE = seen(unconnected(Ask.V1, REFUSED), unconnected(Ask.TOKEN, REFUSED))
STALLED = seen(lost(Ask.V1), lost(Ask.TOKEN))
FORBIDDEN = seen(answered(Ask.V1, NO), answered(Ask.TOKEN, NO))
PROXY = seen(answered(Ask.V1, OK), answered(Ask.TOKEN, 404))
NOT_RUN = Unknown("the node has no room for it")


@pytest.mark.parametrize(
    ("own", "host", "reach", "cause"),
    [
        (REACHED, REACHED, Reach.REACHABLE, Cause.NONE),
        (REACHED, NOT_RUN, Reach.REACHABLE, Cause.NONE),
        (HOPS, REACHED, Reach.CUT_OFF, Cause.HOP_LIMIT),
        (HOPS, NOT_RUN, Reach.CUT_OFF, Cause.HOP_LIMIT),
        (HOPS_V1, REACHED, Reach.V1_ONLY, Cause.HOP_LIMIT),
        (HOPS, HOPS, Reach.CUT_OFF, Cause.UNKNOWN),
        (SILENT, REACHED, Reach.CUT_OFF, Cause.BLOCKED),
        (NO_ROUTE, REACHED, Reach.CUT_OFF, Cause.BLOCKED),
        (STALLED, REACHED, Reach.CUT_OFF, Cause.BLOCKED),
        (SILENT, SILENT, Reach.CUT_OFF, Cause.NODE),
        (SILENT, FORBIDDEN, Reach.CUT_OFF, Cause.DISABLED),
        (SILENT, NOT_RUN, Reach.CUT_OFF, Cause.UNKNOWN),
        (FORBIDDEN, FORBIDDEN, Reach.CUT_OFF, Cause.DISABLED),
        (FORBIDDEN, REACHED, Reach.CUT_OFF, Cause.IN_BETWEEN),
        (FORBIDDEN, NOT_RUN, Reach.CUT_OFF, Cause.DISABLED),
        (PROXY, REACHED, Reach.V1_ONLY, Cause.IN_BETWEEN),
        (PROXY, PROXY, Reach.UNKNOWN, Cause.UNKNOWN),
        (NOT_RUN, REACHED, Reach.UNKNOWN, Cause.UNKNOWN),
        (NOT_RUN, FORBIDDEN, Reach.UNKNOWN, Cause.UNKNOWN),
    ],
)
def test_each_way_it_can_go(own: ProbeReport, host: ProbeReport, reach: Reach, cause: Cause) -> None:
    found = diagnosis(own, host)
    assert (found.reach, found.cause) == (reach, cause)


def test_what_was_not_asked_is_doubt() -> None:
    assert "the node itself was not asked (the node has no room for it)" in diagnosis(HOPS, NOT_RUN).doubt
    assert "the node itself was not asked" in diagnosis(FORBIDDEN, NOT_RUN).doubt
    assert diagnosis(HOPS, REACHED).doubt == ""


def test_a_pod_that_did_not_run_says_why() -> None:
    assert diagnosis(NOT_RUN, REACHED) == ProbeDiagnosis(Reach.UNKNOWN, Cause.UNKNOWN, NOT_RUN.why)


def test_a_connection_that_somebody_ends_is_doubt() -> None:
    found = diagnosis(seen(answered(Ask.V1, NO_TOKEN), lost(Ask.TOKEN, RESET)), REACHED)
    assert found.cause is Cause.HOP_LIMIT and "as a proxy would do it" in found.doubt


def test_requests_that_disagree_are_unknown() -> None:
    """The same path answers one and does not even connect for the other: nothing can be concluded."""
    for steps in (
        (answered(Ask.V1, OK), unconnected(Ask.TOKEN)),
        (unconnected(Ask.V1), lost(Ask.TOKEN)),
        (answered(Ask.V1, 503), lost(Ask.TOKEN)),
        (answered(Ask.V1, OK), answered(Ask.TOKEN, 503)),
        (answered(Ask.V1, NO_TOKEN), answered(Ask.TOKEN, OK), answered(Ask.V2, NO_TOKEN)),
        (answered(Ask.V1, NO_TOKEN), answered(Ask.TOKEN, OK), lost(Ask.V2)),
        (),
    ):
        assert diagnosis(seen(*steps), REACHED).reach is Reach.UNKNOWN, steps


def test_what_ec2_says_makes_it_sure() -> None:
    assert diagnosis(HOPS, REACHED, MetadataOptions("required", 1)).why.endswith("by EC2 it is 1")
    nested = diagnosis(HOPS, REACHED, MetadataOptions("required", 2))
    assert nested.cause is Cause.HOP_LIMIT and nested.doubt == "", "a pod may need three"


@pytest.mark.parametrize(
    ("own", "options", "doubt"),
    [
        (HOPS, MetadataOptions("required", 5), "the hop limit is 5"),
        (HOPS, MetadataOptions("required", 5, pending=True), "EC2 is changing its options"),
        (HOPS_V1, MetadataOptions("required", 1), "IMDSv2 is required"),
        (REACHED, MetadataOptions("required", 2, endpoint=False), "the endpoint is disabled"),
        (FORBIDDEN, MetadataOptions("required", 2), "the endpoint is enabled"),
    ],
)
def test_what_ec2_says_makes_it_doubtful(own: ProbeReport, options: MetadataOptions, doubt: str) -> None:
    plain, found = diagnosis(own, FORBIDDEN if own is FORBIDDEN else REACHED), None
    found = diagnosis(own, FORBIDDEN if own is FORBIDDEN else REACHED, options)
    assert doubt in found.doubt
    assert found.reach is plain.reach, "what was measured stands"


def test_one_instance_only() -> None:
    """A pod that is told of another instance than its node talks to somebody else."""
    elsewhere = seen(*REACHED.v4.steps, instance="i-2")
    assert "i-2" in diagnosis(elsewhere, REACHED).doubt


codes = some.sampled_from([0, 200, 400, 401, 403, 404, 500, 503])
steps = some.builds(
    ProbeStep,
    some.sampled_from(Ask),
    some.sampled_from([0, 7, 28, 52, 56, 127]),
    codes,
    some.none() | some.floats(0.01, 3000),
    some.floats(0, 3000),
)
sights = some.builds(FamilyAnswer, some.lists(steps, max_size=4).map(tuple), some.sampled_from(["", "i-1", "i-2"]))
answers = some.builds(ProbeReport, sights, sights) | some.just(NOT_RUN)
options = some.none() | some.builds(
    MetadataOptions, some.sampled_from(["required", "optional"]), some.integers(1, 64), some.booleans()
)


@given(answers, answers, options, some.sampled_from(AddressFamily))
def test_reach_is_never_better_than_what_was_seen(
    own: ProbeReport | Unknown, host: ProbeReport | Unknown, options: MetadataOptions | None, family: AddressFamily
) -> None:
    found = diagnosis(own, host, options, family)
    assert found.why
    assert found.reach is diagnosis(own, host, None, family).reach, "EC2's word changes no measurement"
    here = None if isinstance(own, Unknown) else own.of(family)
    came = {step.ask: step.code for step in reversed(here.steps)} if here is not None else {}
    if found.reach is Reach.REACHABLE:
        assert came.get(Ask.TOKEN) == came.get(Ask.V2) == OK
    if found.reach is Reach.V1_ONLY:
        assert came.get(Ask.V1) == OK
    if found.cause is Cause.HOP_LIMIT:
        assert came.get(Ask.V1) in (OK, NO_TOKEN) and came.get(Ask.TOKEN) == 0
    if here is None:
        assert found.reach is Reach.UNKNOWN
