"""The script of the probe's pods, on real packets: the kernel decrements the TTL and drops packets that have none left.

A round with an unexpected result is repeated, for 30 seconds: on a busy machine the service may start later than the
script waits.
"""

from __future__ import annotations

import time

import pytest

from kubectl_eksdoc.amazon.metadata_service import ImdsReach, imds_verdict
from kubectl_eksdoc.imds_probe.probe_diagnosis import ImdsCause, ProbeDiagnosis, diagnose
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.metadata import AddressFamily, ImdsRequest, ProbeReport
from tests.packets.conftest import Made
from tests.packets.network import Network
from tests.packets.stand_in import INSTANCE, V4, V6

DEADLINE_S = 30.0
NOBODY = 1 << 30
"""No process has such an id (proc(5), pid_max)."""

REACHED = (ImdsReach.REACHABLE, ImdsCause.NONE)


def expect(network: Network, reach: ImdsReach, cause: ImdsCause) -> tuple[ProbeReport, ProbeReport]:
    """The pod and its node must report these results, for both address families."""
    end, wanted = time.monotonic() + DEADLINE_S, [(reach, cause)] * 2
    while True:
        own, host = network.probe()
        found = [diagnose(own, host, family=family) for family in AddressFamily]
        if [(each.reach, each.cause) for each in found] == wanted:
            return own, host
        assert time.monotonic() < end, found


def on_node(host: ProbeReport) -> ProbeDiagnosis:
    """The node instead of the pod: whether the service can be reached at all."""
    return diagnose(host, host)


def test_two_hops_reach_a_pod_and_its_node(network: Made) -> None:
    own, host = expect(network(MetadataOptions("required", 2)), *REACHED)
    assert (own.v4.instance, own.v6.instance, host.v4.instance) == (INSTANCE,) * 3
    steps = {step.ask: step.code for step in own.v4.steps}
    assert steps == {ImdsRequest.V1: 401, ImdsRequest.TOKEN: 200, ImdsRequest.V2: 200}, "tokens are required"


@pytest.mark.long
def test_one_hop_cuts_the_pod_off_and_not_its_node(network: Made) -> None:
    own, host = expect(network(MetadataOptions("required", 1)), ImdsReach.UNREACHABLE, ImdsCause.HOP_LIMIT)
    lost = own.v4.step(ImdsRequest.TOKEN)
    assert lost is not None and lost.connected and not lost.answered, "the handshake's packets keep the usual TTL"
    assert on_node(host).reach is ImdsReach.REACHABLE


def test_a_disabled_endpoint(network: Made) -> None:
    options = MetadataOptions("required", 2, endpoint=False)
    _, host = expect(network(options), ImdsReach.UNREACHABLE, ImdsCause.DISABLED)
    assert on_node(host).reach is ImdsReach.UNREACHABLE


def test_a_route_of_the_pod_that_prohibits(network: Made) -> None:
    made = network(MetadataOptions("optional", 2))
    made.run("pod", "route", "add", "prohibit", f"{V4}/32")
    made.run("pod", "-6", "route", "add", "prohibit", f"{V6}/128")
    _, host = expect(made, ImdsReach.UNREACHABLE, ImdsCause.BLOCKED)
    assert on_node(host).reach is ImdsReach.REACHABLE


@pytest.mark.long
def test_a_rule_on_the_node_that_drops_what_the_pod_sends(network: Made) -> None:
    """Like a network policy: the pod gets no answer, not even a refusal."""
    made = network(MetadataOptions("required", 2))
    made.run("node", "rule", "add", "iif", "to-pod", "to", V4, "blackhole")
    made.run("node", "-6", "rule", "add", "iif", "to-pod", "to", V6, "blackhole")
    own, host = expect(made, ImdsReach.UNREACHABLE, ImdsCause.BLOCKED)
    assert not any(step.connected for step in (*own.v4.steps, *own.v6.steps))
    assert on_node(host).reach is ImdsReach.REACHABLE


@pytest.mark.long
def test_frames_that_get_lost_in_the_pods_own_namespace(network: Made) -> None:
    made = network(MetadataOptions("required", 1))
    for router in ("10.99.1.1", "fd99:1::1"):
        nobody = "02:00:00:00:00:99"
        made.run("pod", "neigh", "replace", router, "lladdr", nobody, "dev", "to-node", "nud", "permanent")
    expect(made, ImdsReach.UNREACHABLE, ImdsCause.BLOCKED)


@pytest.mark.long
def test_nothing_answers_on_the_node_either(network: Made) -> None:
    made = network(MetadataOptions("required", 2))
    made.run("service", "link", "set", "to-node", "down")
    expect(made, ImdsReach.UNREACHABLE, ImdsCause.NODE)


@pytest.mark.long
def test_ipv6_alone_may_be_off(network: Made) -> None:
    """As on most instances: the IPv6 endpoint is disabled unless a user enables it."""
    made = network(MetadataOptions("required", 2))
    for name in ("node", "pod"):
        made.run(name, "-6", "route", "add", "unreachable", f"{V6}/128")
    own, host = made.probe()
    assert diagnose(own, host, family=AddressFamily.V6).cause is ImdsCause.NODE


@pytest.mark.long
@pytest.mark.parametrize("tokens", ["required", "optional"])
@pytest.mark.parametrize("routers", [0, 1])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_the_rule_says_what_packets_do(network: Made, tokens: str, routers: int, hops: int) -> None:
    """The conclusion from EC2's answer alone equals the measurement."""
    options = MetadataOptions(tokens, hops)
    foretold = imds_verdict(options, hops=2 + routers).reach
    expect(
        network(options, routers), foretold, ImdsCause.NONE if foretold is ImdsReach.REACHABLE else ImdsCause.HOP_LIMIT
    )
