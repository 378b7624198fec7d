"""The nodes that are probed, and the meaning of the answers, compared with the node's own answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.amazon.metadata_service import ImdsReach
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.imds_probe.probe_diagnosis import ImdsCause, diagnose
from kubectl_eksdoc.imds_probe.probe_result import (
    MAX_SCRIPT_S,
    OS_LABEL,
    SETTLE_S,
    TEMPLATE_VERSION_LABEL,
    ProbeSettings,
    manifests,
    probe_groups,
    probe_pods,
)
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import AddressFamily, FamilyAnswer, ImdsRequest, PodNetwork, ProbeReport, ProbeStep
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, Node
from kubectl_eksdoc.model.placement import ProbePodStatus
from kubectl_eksdoc.probes.pods import ProbeStage, probe_stage, timeout_reason
from tests.builders import a_node

OK, NO_TOKEN, NO = 200, 401, 403
REFUSED, TIMEOUT, RESET = 7, 28, 56


def answered(ask: ImdsRequest, code: int) -> ProbeStep:
    return ProbeStep(ask, 0, code, 0.3, 1.0)


def lost(ask: ImdsRequest, exit: int = TIMEOUT) -> ProbeStep:
    return ProbeStep(ask, exit, 0, 0.3, 3000.0)


def unconnected(ask: ImdsRequest, exit: int = TIMEOUT) -> ProbeStep:
    return ProbeStep(ask, exit, 0, None, 2000.0)


def seen(*steps: ProbeStep, instance: str = "") -> ProbeReport:
    """The same result on both address families."""
    return ProbeReport(FamilyAnswer(steps, instance), FamilyAnswer(steps, instance))


REACHED = seen(*map(answered, ImdsRequest, (NO_TOKEN, OK, OK)), instance="i-1")
HOPS = seen(answered(ImdsRequest.V1, NO_TOKEN), lost(ImdsRequest.TOKEN))
HOPS_V1 = seen(answered(ImdsRequest.V1, OK), lost(ImdsRequest.TOKEN), instance="i-1")
SILENT = seen(unconnected(ImdsRequest.V1), unconnected(ImdsRequest.TOKEN))
NO_ROUTE = seen(unconnected(ImdsRequest.V1, REFUSED), unconnected(ImdsRequest.TOKEN, REFUSED))
STALLED = seen(lost(ImdsRequest.V1), lost(ImdsRequest.TOKEN))
FORBIDDEN = seen(answered(ImdsRequest.V1, NO), answered(ImdsRequest.TOKEN, NO))
PROXY = seen(answered(ImdsRequest.V1, OK), answered(ImdsRequest.TOKEN, 404))
NOT_RUN = Unknown("the node has no room for it")
UNSEEN = "the node itself was not asked (the node has no room for it)"
BY_HOPS, BY_SWITCH = (
    f"EC2 was not asked, the command without --active does that: if it says that the {what}"
    for what in (
        "hop limit is 3 or more, something else loses that answer",
        "endpoint is enabled, something else answers with 403",
    )
)


@pytest.mark.parametrize(
    ("own", "host", "reach", "cause"),
    [
        (REACHED, REACHED, ImdsReach.REACHABLE, ImdsCause.NONE),
        (REACHED, NOT_RUN, ImdsReach.REACHABLE, ImdsCause.NONE),
        (HOPS, REACHED, ImdsReach.UNREACHABLE, ImdsCause.HOP_LIMIT),
        (HOPS, NOT_RUN, ImdsReach.UNREACHABLE, ImdsCause.HOP_LIMIT),
        (HOPS_V1, REACHED, ImdsReach.V1_ONLY, ImdsCause.HOP_LIMIT),
        (HOPS, HOPS, ImdsReach.UNREACHABLE, ImdsCause.UNKNOWN),
        (SILENT, REACHED, ImdsReach.UNREACHABLE, ImdsCause.BLOCKED),
        (NO_ROUTE, REACHED, ImdsReach.UNREACHABLE, ImdsCause.BLOCKED),
        (STALLED, REACHED, ImdsReach.UNREACHABLE, ImdsCause.BLOCKED),
        (SILENT, SILENT, ImdsReach.UNREACHABLE, ImdsCause.NODE),
        (SILENT, FORBIDDEN, ImdsReach.UNREACHABLE, ImdsCause.DISABLED),
        (SILENT, NOT_RUN, ImdsReach.UNREACHABLE, ImdsCause.UNKNOWN),
        (FORBIDDEN, FORBIDDEN, ImdsReach.UNREACHABLE, ImdsCause.DISABLED),
        (FORBIDDEN, REACHED, ImdsReach.UNREACHABLE, ImdsCause.IN_BETWEEN),
        (FORBIDDEN, NOT_RUN, ImdsReach.UNREACHABLE, ImdsCause.DISABLED),
        (PROXY, REACHED, ImdsReach.V1_ONLY, ImdsCause.IN_BETWEEN),
        (PROXY, PROXY, ImdsReach.UNKNOWN, ImdsCause.UNKNOWN),
        (NOT_RUN, REACHED, ImdsReach.UNKNOWN, ImdsCause.UNKNOWN),
        (NOT_RUN, FORBIDDEN, ImdsReach.UNKNOWN, ImdsCause.UNKNOWN),
    ],
)
def test_each_way_it_can_go(own: ProbeReport, host: ProbeReport, reach: ImdsReach, cause: ImdsCause) -> None:
    found = diagnose(own, host)
    assert (found.reach, found.cause) == (reach, cause)
    assert own is not NOT_RUN or found.why == NOT_RUN.why


@pytest.mark.parametrize(
    ("own", "host", "doubt"),
    [
        (HOPS, REACHED, BY_HOPS),
        (HOPS, NOT_RUN, f"{UNSEEN}; {BY_HOPS}"),
        (FORBIDDEN, FORBIDDEN, BY_SWITCH),
        (FORBIDDEN, NOT_RUN, f"or a proxy does that: {UNSEEN}; {BY_SWITCH}"),
        (SILENT, REACHED, ""),
        (seen(answered(ImdsRequest.V1, NO_TOKEN), lost(ImdsRequest.TOKEN, RESET)), REACHED,
         f"the connection was broken off and not silent, as a proxy would do it, too; {BY_HOPS}"),
        (seen(*REACHED.v4.steps, instance="i-2"), REACHED,
         "the pod reported i-2 and the node i-1: another server answers one of them"),
        (seen(*REACHED.v4.steps), REACHED, ""),
    ],
)  # fmt: skip
def test_what_was_not_asked_or_speaks_against_it_is_doubt(own: ProbeReport, host: Any, doubt: str) -> None:
    found = diagnose(own, host)
    assert found.doubt == doubt
    assert ("likely" in found.why) is ("EC2 was not asked" in doubt), "a cause that EC2 might contradict is not sure"


def test_requests_that_disagree_are_unknown() -> None:
    """The same path answers one request and does not even connect for another: no conclusion is possible."""
    for steps in (
        (answered(ImdsRequest.V1, OK), unconnected(ImdsRequest.TOKEN)),
        (unconnected(ImdsRequest.V1), lost(ImdsRequest.TOKEN)),
        (answered(ImdsRequest.V1, 503), lost(ImdsRequest.TOKEN)),
        (answered(ImdsRequest.V1, OK), answered(ImdsRequest.TOKEN, 503)),
        (answered(ImdsRequest.V1, NO_TOKEN), answered(ImdsRequest.TOKEN, OK), answered(ImdsRequest.V2, NO_TOKEN)),
        (answered(ImdsRequest.V1, NO_TOKEN), answered(ImdsRequest.TOKEN, OK), lost(ImdsRequest.V2)),
        (),
    ):
        assert diagnose(seen(*steps), REACHED).reach is ImdsReach.UNKNOWN, steps


codes = some.sampled_from([0, 200, 400, 401, 403, 404, 500, 503])
steps = some.builds(
    ProbeStep,
    some.sampled_from(ImdsRequest),
    some.sampled_from([0, 7, 28, 52, 56, 127]),
    codes,
    some.none() | some.floats(0.01, 3000),
    some.floats(0, 3000),
)
sights = some.builds(FamilyAnswer, some.lists(steps, max_size=4).map(tuple), some.sampled_from(["", "i-1", "i-2"]))
answers = some.builds(ProbeReport, sights, sights) | some.just(NOT_RUN)


@given(answers, answers, some.sampled_from(AddressFamily))
def test_reach_is_never_better_than_what_was_seen(
    own: ProbeReport | Unknown, host: ProbeReport | Unknown, family: AddressFamily
) -> None:
    found = diagnose(own, host, family)
    assert found.why
    here = None if isinstance(own, Unknown) else own.answer(family)
    came = {step.ask: step.code for step in reversed(here.steps)} if here is not None else {}
    if found.reach is ImdsReach.REACHABLE:
        assert came.get(ImdsRequest.TOKEN) == came.get(ImdsRequest.V2) == OK
    if found.reach is ImdsReach.V1_ONLY:
        assert came.get(ImdsRequest.V1) == OK
    if found.cause is ImdsCause.HOP_LIMIT:
        assert came.get(ImdsRequest.V1) in (OK, NO_TOKEN) and came.get(ImdsRequest.TOKEN) == 0
    if here is None:
        assert found.reach is ImdsReach.UNKNOWN


def test_one_of_each_kind() -> None:
    nodes = [a_node(f"n{number}", group="blue" if number < 3 else "green") for number in range(5)]
    blue, green = probe_groups(nodes)
    assert (blue.nodes, blue.chosen) == (("n0", "n1", "n2"), ("n0",))
    assert (green.nodes, green.chosen) == (("n3", "n4"), ("n3",))
    old, new = (a_node(f"n{version}", labels={TEMPLATE_VERSION_LABEL: version}) for version in "12")
    assert [each.chosen for each in probe_groups([old, new])] == [("n1",), ("n2",)], (
        "a group in the middle of an update"
    )
    assert [each.chosen for each in probe_groups(nodes, ["n1", "n2"])] == [("n1", "n2")]
    assert [each.chosen for each in probe_groups(nodes[3:], is_every_node=True)] == [("n3", "n4")]
    with pytest.raises(UsageError, match="there is no node nx"):
        probe_groups(nodes, ["nx"])
    cordoned = [a_node("a", unschedulable=True), a_node("b")]
    assert probe_groups(cordoned)[0].chosen == ("b",)
    assert probe_groups(cordoned[:1])[0].chosen == ("a",), "its pods are bound to it, and tolerate that it is cordoned"


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (a_node("n", labels={COMPUTE_TYPE: "fargate"}), "Fargate"),
        (a_node("n", labels={COMPUTE_TYPE: "hybrid"}), "no EC2 instance"),
        (a_node("n", labels={OS_LABEL: "windows"}), "windows runs none"),
        (a_node("n", ready="Unknown"), "its kubelet would start nothing"),
    ],
)
def test_where_a_pod_would_tell_nothing(node: Node, why: str) -> None:
    (found,) = probe_groups([node], is_every_node=True)
    assert found.chosen == () and why in found.why_not


fleets = some.lists(
    some.builds(
        a_node,
        some.sampled_from([f"n{number}" for number in range(30)]),
        group=some.sampled_from(["", "blue", "green"]),
        ready=some.sampled_from(["True", "False"]),
        labels=some.dictionaries(
            some.sampled_from([TEMPLATE_VERSION_LABEL, OS_LABEL]), some.sampled_from(["1", "2", "linux"])
        ),
    ),
    unique_by=lambda node: node.name,
)


@given(fleets, some.booleans())
def test_every_node_is_of_one_kind(nodes: list[Node], every: bool) -> None:
    found = probe_groups(nodes, is_every_node=every)
    assert sorted(name for each in found for name in each.nodes) == sorted(node.name for node in nodes)
    for each in found:
        assert set(each.chosen) <= set(each.nodes)
        assert bool(each.chosen) is not bool(each.why_not)
        assert every or len(each.chosen) <= 1


def test_pods_are_named_shortly_and_alone() -> None:
    """A node's name may be as long as a pod's."""
    pods = probe_pods("0a1b2c3d", [f"{'n' * 250}{number}" for number in range(3)], tuple(PodNetwork))
    assert len({pod.name for pod in pods}) == 6 and max(len(pod.name) for pod in pods) < 63


def test_what_is_made_first_owns_the_rest() -> None:
    assert ProbeSettings(wait_s=10).deadline_s > 10 + SETTLE_S + MAX_SCRIPT_S, "later than all that is waited for"
    owner, *pods = manifests("cafe", probe_pods("cafe", ["n"], tuple(PodNetwork)), ProbeSettings())
    assert owner["kind"] == "ConfigMap" and [pod["kind"] for pod in pods] == ["Pod", "Pod"]
    for pod in pods:
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]
        assert pod["spec"]["restartPolicy"] == "Never" and pod["spec"]["activeDeadlineSeconds"] > 0


@pytest.mark.parametrize(
    ("stand", "found"),
    [
        (ProbePodStatus("p", "Succeeded", exit_code=0), ProbeStage.READ),
        (ProbePodStatus("p", "Running", exit_code=0), ProbeStage.READ),
        (ProbePodStatus("p", "Failed", exit_code=1), ProbeStage.READ),
        (ProbePodStatus("p", "Running"), ProbeStage.WAIT),
        (ProbePodStatus("p"), ProbeStage.WAIT),
        (ProbePodStatus("p", waiting="ContainerCreating"), ProbeStage.WAIT),
        (None, "the pod was deleted"),
        (
            ProbePodStatus("p", "Failed", "OutOfcpu", "Pod was rejected"),
            "the node has no room for it (OutOfcpu: Pod was",
        ),
        (
            ProbePodStatus("p", "Failed", "DeadlineExceeded", "x", exit_code=137),
            "the kubelet refused or ended it (DeadlineExc",
        ),
        (
            ProbePodStatus("p", "Failed", exit_code=128, exit_reason="StartError", message="no sh"),
            "cannot be started (StartError",
        ),
        (
            ProbePodStatus("p", waiting="ImagePullBackOff", waiting_message="a\nb"),
            "cannot be pulled (ImagePullBackOff: a b)",
        ),
        (ProbePodStatus("p", waiting="CreateContainerConfigError"), "its container cannot be started"),
        (ProbePodStatus("p", "Failed"), "it failed"),
    ],
)
def test_what_is_made_of_a_pod(stand: ProbePodStatus | None, found: ProbeStage | str) -> None:
    made = probe_stage(stand)
    if isinstance(found, ProbeStage):
        assert made is found
    else:
        assert isinstance(made, Unknown) and found in made.why


def test_what_took_too_long_says_how_far_it_was() -> None:
    assert "the kubelet has not begun with it after 90 s" in timeout_reason(ProbePodStatus("p"), 90).why
    assert (
        "has not started after 90 s (ContainerCreating)"
        in timeout_reason(ProbePodStatus("p", waiting="ContainerCreating"), 90).why
    )
    assert "it has not ended after 90 s" in timeout_reason(ProbePodStatus("p", "Running"), 90).why
    assert "nothing was heard of it after 90 s" in timeout_reason(None, 90).why
