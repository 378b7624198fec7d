"""The registry of faults: their syntax, that each is registered once, and that each is built as requested."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.faults import (
    ALL_FAULTS,
    ONCE_AT_S,
    FaultName,
    FaultValueKind,
    build_faults,
    check_nodes,
    parse_fault,
)
from kubectl_eksdoc.embedded.serving.requests import Reply, ServedRequest
from kubectl_eksdoc.errors import UsageError
from tests.embedded.serving.test_faults import HEADERS, a_cluster, faulty

EXAMPLES = {
    FaultValueKind.SECONDS: "2m",
    FaultValueKind.EVENTS: "3",
    FaultValueKind.BUDGET: "web",
    FaultValueKind.WEBHOOK: "guard.example.io",
    FaultValueKind.RESOURCE: "leases.coordination.k8s.io",
    FaultValueKind.NODE: "ip-10-0-0-1.ec2.internal",
    FaultValueKind.PODS: "shop/web-*",
}


@pytest.mark.parametrize("named", ALL_FAULTS, ids=lambda named: named.name)
def test_each_is_made_of_what_it_takes(named: FaultName) -> None:
    texts = [named.name, f"{named.name}@5%"]
    texts += [f"{named.name}={EXAMPLES[named.takes]}@5%"] if named.takes is not FaultValueKind.NOTHING else []
    for text in texts:
        chosen = build_faults([parse_fault(text)], seed=1)
        assert len(chosen.requests) == named.is_request_fault and len(chosen.cluster) == (not named.is_request_fault)
        for fault in chosen.requests:
            assert fault.share == (0.05 if "@" in text else 1.0)


def test_a_value_a_share_and_a_time() -> None:
    assert parse_fault("slow=1m30s@2.5%").parameters == parse_fault("slow=90@2.5%").parameters
    assert (parse_fault("slow").parameters.number, parse_fault("slow=0.2").parameters.number) == (5.0, 0.2)
    once, timed, often = (parse_fault(f"node-gone{when}").parameters for when in ("", "@90s", "@5%"))
    assert (once.at_s, timed.at_s, often.at_s, often.share) == (ONCE_AT_S, 90.0, None, 0.05)
    assert parse_fault("node-gone=a-1@2m").parameters.text == "a-1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodegone", "'nodegone' is no fault (did you mean node-gone?)"),
        ("429", "'429' is no fault (did you mean throttled or over-budget or budget-unseen?)"),
        ("", "'' is no fault"),
        ("reset=5", "reset takes no value, and '5' is one"),
        ("slow=-5s", "slow takes a duration such as 5, 30s or 2m, not '-5s'"),
        ("watch-cut=many", "watch-cut takes a number of events, 0 or more, not 'many'"),
        ("stuck-pods=web", "stuck-pods takes pods as NAMESPACE/NAME, with * for any text, not 'web'"),
        ("node-gone=A_B", "node-gone takes the name of a node, not 'A_B'"),
        ("slow@101%", "slow takes a share of requests as @5%, not @101%"),
        ("node-gone@5 %", "node-gone takes a share of virtual minutes as @5% or a time such as @90s, not @5 %"),
    ],
)
def test_what_is_none_is_said_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_fault(text)
    assert caught.value.message == said and "--fault list" in caught.value.hint


def test_a_node_that_is_not_there() -> None:
    check_nodes([parse_fault("node-gone=old-1"), parse_fault("node-gone"), parse_fault("stuck-pods=a/b")], {"old-1"})
    with pytest.raises(UsageError, match=r"--fault node-gone=old1: there is no node 'old1' \(did you mean old-1\?\)"):
        check_nodes([parse_fault("node-gone=old1")], {"old-1"})


PODS = ServedRequest("GET", "/api/v1/pods", {}, HEADERS)


def met(share: str, seed: int, times: int = 1000) -> list[bool]:
    chosen = build_faults([parse_fault(f"server-error@{share}")], seed)
    handler = faulty(a_cluster(), *chosen.requests, seed=seed)
    return [handler.handle(PODS).status == 500 for _ in range(times)]


@pytest.mark.parametrize(("share", "least", "most"), [("5%", 30, 75), ("30%", 250, 350), ("0%", 0, 0)])
def test_a_share_is_by_chance_that_follows_from_the_seed(share: str, least: int, most: int) -> None:
    first = met(share, seed=1)
    assert least <= sum(first) <= most
    assert first == met(share, seed=1), "the same in every run"
    assert share == "0%" or first != met(share, seed=2)


def answered(text: str, request: ServedRequest) -> Reply:
    return faulty(a_cluster(), *build_faults([parse_fault(text)], 0).requests).handle(request)


def test_what_a_fault_meets() -> None:
    version = ServedRequest("GET", "/version", {}, HEADERS)
    nodes = ServedRequest("GET", "/api/v1/nodes/a", {}, HEADERS)
    assert [answered("forbidden", each).status for each in (PODS, nodes, version)] == [403, 403, 403]
    assert [answered("forbidden=pods", each).status for each in (PODS, nodes, version)] == [403, 200, 200]
    assert b'nodes \\"a\\" is forbidden: User \\"admin\\" cannot get resource' in answered("forbidden", nodes).body
    assert answered("list-expired", PODS).status == 200
    assert answered("list-expired", ServedRequest("GET", PODS.path, {"continue": ("x",)}, HEADERS)).status == 410
    reply = answered("conflict", ServedRequest("PATCH", nodes.path, {}, HEADERS, b"{}"))
    assert reply.status == 409 and b'Operation cannot be fulfilled on nodes \\"a\\"' in reply.body
    assert answered("conflict", nodes).status == 200, "only what has a name is written by somebody else"
