"""The real asker, as a process, over real sockets, while a DNS server leaves a service: what is lost, and why.

How fast the machine is decides nothing: each step waits for the one before, and a run in which the order of things that
is meant did not come about (the proxy heard of it only after lameduck was over) is made again.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kubectl_eksdoc.coredns_lameduck.measuring.findings import findings_of
from kubectl_eksdoc.coredns_lameduck.measuring.plan import Happening, MeasurementSettings
from kubectl_eksdoc.flows.dns_measure import MeasurementEdges, measured, prepared
from kubectl_eksdoc.host.asker_archive import packed
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.coredns import DnsPod, DnsService, DnsStand, DnsWorkload
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.placing import NotMade, PodStand, ProbeOwner
from tests.dns.askers import Asking, asking, plan
from tests.dns.left import LONGEST_S, Leaving, answering, several, until
from tests.dns.responder import HOSTS, Behaviour, has_v6
from tests.dns.service import Service, serving
from tests.flows.dns_worlds import NODES

pytestmark = pytest.mark.long

LAMEDUCK = ".:53 {\n health {\n lameduck 5s\n }\n ready\n}\n"
NONE = ".:53 {\n health\n ready\n}\n"
ENOUGH = 8
"""So many flows are wanted in each stretch of time that matters."""


def flows_more(service: Service, ports: list[int]) -> None:
    """Until each of them was sent so many more flows over each transport."""
    before = service.flows.copy()
    wanted = [(by, port) for by in ("udp", "tcp") for port in ports]
    until(lambda: all(service.flows[each] >= before[each] + ENOUGH for each in wanted), "no flows")


@dataclass(frozen=True)
class Course:
    """One run: what the asker found, and whether it went in the order that was meant."""

    asked: Asking
    code: int
    in_order: bool


def targets(service: Service, one: Leaving, two: Leaving) -> dict[str, tuple[str, int]]:
    return {
        "service": (HOSTS[0], service.port),
        "leaving": (HOSTS[0], one.port),
        "staying": (HOSTS[0], two.port),
        **({"staying-v6": (HOSTS[1], two.port)} if two.v6 else {}),
    }


def course(folder: Path, corefile: str, scale: float, propagated_s: float, killed: bool = False) -> Course:
    """One of two endpoints leaves; the proxy takes it out after `propagated_s`, and, where it is gone before, after
    some flows went to where it was. `killed`: by a grace period that is over before lameduck is."""
    with several(2, corefile, scale) as (one, two), serving([one.port, two.port]) as service:
        with asking(folder, plan(targets(service, one, two))) as asked:
            flows_more(service, [one.port, two.port])
            told_s = one.tell()
            if killed:
                one.tell(signal.SIGKILL)
            until(lambda: time.monotonic() - told_s >= propagated_s)
            left_early = one.gone
            if left_early:
                flows_more(service, [one.port])
            service.take_out(one.port)
            until(lambda: one.port not in service.endpoints)
            still_there = not one.gone
            until(lambda: one.gone)
            flows_more(service, [two.port])
            asked.end()
        wanted = still_there if corefile == LAMEDUCK and not killed else left_early
        return Course(asked, one.process.returncode, wanted)


def in_order(folder: Path, corefile: str, scale: float, propagated_s: float, killed: bool = False) -> Course:
    ends_s = time.monotonic() + 2 * LONGEST_S
    while time.monotonic() < ends_s:
        found = course(folder, corefile, scale, propagated_s, killed)
        if found.in_order:
            return found
    raise AssertionError("it never went in order")


def lost(asked: Asking, target: str) -> int:
    found = asked.of(target)
    return found["lost"] + found["refused"] + found["failed"]


def test_with_a_lameduck_that_is_longer_than_propagation_nothing_is_lost(tmp_path: Path) -> None:
    done = in_order(tmp_path, LAMEDUCK, 0.4, 0.3)
    assert done.code == 0
    assert done.asked.of("service")["answered"] > 4 * ENOUGH
    assert lost(done.asked, "service") == 0
    assert lost(done.asked, "leaving") > 0, "the endpoint itself was asked after it had left, too"
    assert lost(done.asked, "staying") == 0 and done.asked.of("staying")["answered"] > 0


def test_without_lameduck_answers_are_lost(tmp_path: Path) -> None:
    done = in_order(tmp_path, NONE, 1.0, 0.3)
    assert done.code == 0
    service = done.asked.of("service")
    assert service["lost"] > 0 and service["answered"] > 0
    assert lost(done.asked, "staying") == 0
    over = {by for (to, by), each in done.asked.sums().items() if to == "service" and each["lost"]}
    assert over == {"udp", "tcp"}


def test_killed_by_a_grace_period_that_is_too_short_answers_are_lost(tmp_path: Path) -> None:
    done = in_order(tmp_path, LAMEDUCK, 10.0, 0.3, killed=True)
    assert done.code == -signal.SIGKILL
    assert done.asked.of("service")["lost"] > 0
    assert lost(done.asked, "staying") == 0


def test_over_both_families(tmp_path: Path) -> None:
    if not has_v6():
        pytest.skip("no IPv6 on this machine")
    with answering({"it": Behaviour()}) as ports:
        both = {"v4": (HOSTS[0], ports["it"]), "v6": (HOSTS[1], ports["it"])}
        with asking(tmp_path, plan(both, seconds=1)) as asked:
            asked.over()
    streams = {stream: each["answered"] for stream, each in asked.sums().items()}
    assert set(streams) == {(to, by) for to in both for by in ("udp", "tcp")}
    assert all(streams.values())


PROPAGATION_S = 1.0


@dataclass
class Street:
    """A service, its servers as CoreDNS's pods, and askers as processes: all that a flow sees of a cluster. Each server
    has a port of its own in place of an address. Mutable."""

    folder: Path
    service_: Service
    servers: list[Leaving]
    told: dict[int, float] = field(default_factory=dict)
    askers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    program: bytes = b""

    # a clock
    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    # CoreDNS
    def service(self) -> DnsService:
        return DnsService((HOSTS[0],), self.service_.port)

    def workload(self) -> DnsWorkload:
        return DnsWorkload("d", 1)

    def stand(self) -> DnsStand:
        now = time.monotonic()
        for port, told_s in self.told.items():
            if port in self.service_.endpoints and now >= told_s + PROPAGATION_S:
                self.service_.take_out(port)
                until(lambda port=port: port not in self.service_.endpoints)  # type: ignore[misc]
        pods = tuple(self._pod(server) for server in self.servers if not server.gone)
        return DnsStand(datetime.now(timezone.utc), pods, frozenset(a for p in pods if p.ready for a in p.addresses))

    def _pod(self, server: Leaving) -> DnsPod:
        told = server.port in self.told
        when = datetime.now(timezone.utc) if told else None
        return DnsPod(f"coredns-{server.port}", f"u{server.port}", "n0", (HOSTS[0],), not told, when)

    def evict(self, pod: DnsPod, dry: bool = False) -> NotMade | None:
        server = next(each for each in self.servers if f"u{each.port}" == pod.uid)
        self.told[server.port] = server.tell(signal.SIGTERM)
        return None

    def restart(self, of: DnsWorkload, dry: bool = False) -> NotMade | None:
        raise AssertionError("nobody asked for it")

    # the namespace of the pods that ask
    def pod_security(self) -> str | Unknown:
        return ""

    def owners(self) -> tuple[ProbeOwner, ...] | Unknown:
        return ()

    def make_owner(self, doc: Doc, dry: bool = False) -> ProbeOwner | NotMade:
        (self.folder / "asker.pyz").write_bytes(self.program)
        return ProbeOwner("cafe", doc["metadata"]["name"], "u")

    def make_pod(self, doc: Doc, dry: bool = False) -> NotMade | None:
        name, command = doc["metadata"]["name"], doc["spec"]["containers"][0]["command"]
        asked = json.loads(command[-1])
        asked["targets"] = [each for each in asked["targets"] if each["name"].startswith("service")]
        argv = [sys.executable, *command[1:3], "-S", str(self.folder / "asker.pyz"), "--plan", json.dumps(asked)]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.askers[name] = subprocess.Popen(argv, stdout=log)
        return None

    def stands(self, probe: str) -> Mapping[str, PodStand] | Unknown:
        return {name: PodStand(name, "Running", running=True) for name in self.askers}

    def log(self, pod: str) -> str | Unknown:
        return (self.folder / f"{pod}.log").read_text(encoding="utf-8")

    def remove(self, owner: ProbeOwner) -> Unknown | None:
        for process in self.askers.values():
            process.kill()
            process.wait(LONGEST_S)
        self.askers.clear()
        return None


@pytest.mark.parametrize(("corefile", "scale", "status"), [(LAMEDUCK, 2.0, Status.PASS), (NONE, 1.0, Status.FAIL)])
def test_one_of_two_is_evicted(tmp_path: Path, corefile: str, scale: float, status: Status) -> None:
    """Lameduck is ten seconds and propagation one or two, so that no machine turns their order round."""
    manner = MeasurementSettings(Happening.EVICTION, for_s=16, rate=20, timeout_s=1.5)
    with several(2, corefile, scale) as servers, serving([each.port for each in servers]) as service:
        street = Street(tmp_path, service, servers, program=packed())
        plan = prepared(NODES, street, street, "cafe", manner)
        done = measured(plan, street.program, MeasurementEdges(street, street, street, lambda: 0, str))
    found = findings_of(plan, done)
    assert {each.status for each in found if each.code.name == "dns-answers-lost"} == {status}, [
        each.message for each in found
    ]
    assert done.deed.done_at is not None and street.askers == {}
