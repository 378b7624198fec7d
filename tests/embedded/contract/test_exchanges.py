"""The embedded server against 157 exchanges with a real kube-apiserver 1.36.2, each with the same initial state."""

from __future__ import annotations

import pytest

from tests.embedded.contract import comparing
from tests.embedded.contract.comparing import Said
from tests.embedded.contract.recorded import exchanges
from tests.embedded.contract.worlds import World, reading, request_of
from tests.examples import one_in

NOT_SUPPORTED = {
    6: "there is no aggregated discovery: clients take the plain answer, where they do not get it",
    7: "as 6",
    17: "what is wrong with a token is said in other words",
    105: "kubelets are played, and their logs are always there; the recorded server could not reach any",
    **dict.fromkeys((110, 111, 112), "as 114, whatever is wrong besides"),
    114: "no connection is upgraded to a websocket, so nothing is executed in a pod",
    **dict.fromkeys((*range(119, 125), *range(126, 132)), "policies are stored as given, not evaluated"),
    **dict.fromkeys((149, 151, 153, 154, 155), "the recorded server has no watch cache"),
}
"""Exchanges that are answered otherwise, and why."""


def both(index: int) -> tuple[Said, Said]:
    """The answers of the embedded server and of the real one."""
    exchange = exchanges()[index]
    request = request_of(exchange["request"])
    watching = request.flag("watch")
    world = reading(index) if request.method == "GET" and not watching else World(index)
    reply = world.api.handle(request)
    world.clockwork.running = watching
    return comparing.answered(reply, world.uids), comparing.recorded(exchange["response"], world.uids)


def named(index: int) -> str:
    return f"{index} {exchanges()[index]['name']}"


@pytest.mark.parametrize("index", one_in(3, [i for i in range(157) if i not in NOT_SUPPORTED]), ids=named)
def test_answers_as_the_real_server(index: int) -> None:
    ours, theirs = both(index)
    assert ours == theirs


def test_every_recorded_exchange_is_asked() -> None:
    assert len(exchanges()) == 157


@pytest.mark.parametrize("index", NOT_SUPPORTED, ids=named)
def test_what_is_not_supported_is_answered_otherwise(index: int) -> None:
    ours, theirs = both(index)
    assert ours != theirs, "it is supported now: take it from the list"
