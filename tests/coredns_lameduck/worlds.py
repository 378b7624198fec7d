"""A cluster in virtual time in which CoreDNS pods end and client pods send questions: input for tests of
measurements."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.coredns import CoreDnsDeployment, CoreDnsPod, CoreDnsState, DnsService
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import ProbeFailure, ProbeOwner, ProbePodStatus
from tests.builders import a_node

START = datetime(2026, 1, 1, 10, 0, 0, tzinfo=timezone.utc)
V4, BOTH = ("172.20.0.10",), ("172.20.0.10", "fd00::a")
LATER = ProbeFailure("to create pods/eviction, the server answered 429: budget coredns needs 1", may_retry=True)


def in_zone(name: str, zone: str, **more: object) -> Node:
    return a_node(name, labels={"topology.kubernetes.io/zone": zone}, **more)


NODES = (in_zone("n0", "a"), in_zone("n1", "a"), in_zone("n2", "b"))
PODS = (
    CoreDnsPod("coredns-1", "u1", "n0", ("10.0.0.1",)),
    CoreDnsPod("coredns-2", "u2", "n2", ("10.0.0.2",)),
)
STANDS = {
    "runs": ProbePodStatus("", "Running", running=True),
    "no image": ProbePodStatus("", waiting="ErrImagePull", waiting_message="not found"),
    "pending": ProbePodStatus("", "Pending"),
    "crashed": ProbePodStatus("", "Failed", exit_code=1, exit_reason="Error"),
}


@dataclass
class World:
    """Mutable. `lame_s`: how long a pod answers after its termination began, `away_s`: the time until the proxies have
    removed it. `stands`: the states of the client pods, by the end of their names; `says`: the answer to each eviction,
    in their order."""

    service_is: DnsService | Absent | Unknown = field(default_factory=lambda: DnsService(V4))
    workload_is: CoreDnsDeployment | Absent | Unknown = field(default_factory=lambda: CoreDnsDeployment("d", 2))
    pods: list[CoreDnsPod] = field(default_factory=lambda: list(PODS))
    lame_s: float = 5.0
    away_s: float = 2.0
    starts_s: float = 4.0
    stands: Mapping[str, str] = field(default_factory=dict)
    says: list[ProbeFailure | None] = field(default_factory=list)
    owners_are: tuple[ProbeOwner, ...] | Unknown = ()
    refuses: Mapping[str, ProbeFailure] = field(default_factory=dict)
    unseen: str = ""
    busy: Callable[[int], bool] = lambda second: False
    now: float = 0.0
    done: list[str] = field(default_factory=list)
    made: dict[str, Doc] = field(default_factory=dict)
    began: dict[str, float] = field(default_factory=dict)
    told_at: dict[str, float] = field(default_factory=dict)
    born_at: dict[str, float] = field(default_factory=dict)
    stuck: bool = False

    # a clock
    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    # CoreDNS
    def service(self) -> DnsService | Absent | Unknown:
        return self.service_is

    def workload(self) -> CoreDnsDeployment | Absent | Unknown:
        return self.workload_is

    def stand(self) -> CoreDnsState | Unknown:
        if self.unseen:
            return Unknown(self.unseen, "list pods")
        there = [self._stands_now(pod) for pod in self.pods if self._there(pod)]
        serving = {
            address for pod in there if pod.deletion_requested_at is None and pod.ready for address in pod.addresses
        }
        return CoreDnsState(self.at(self.now), tuple(there), frozenset(serving))

    def at(self, seconds: float) -> datetime:
        return START + timedelta(seconds=int(seconds))

    def _there(self, pod: CoreDnsPod) -> bool:
        told = self.told_at.get(pod.uid)
        born = self.born_at.get(pod.uid, -1e9)
        return born <= self.now and (told is None or self.now < told + self.lame_s + 0.5)

    def _stands_now(self, pod: CoreDnsPod) -> CoreDnsPod:
        told = self.told_at.get(pod.uid)
        ready = self.now >= self.born_at.get(pod.uid, -1e9) + self.starts_s
        return replace(
            pod, ready=ready, deletion_requested_at=self.at(told) if told is not None and told <= self.now else None
        )

    def _ends(self, pod: CoreDnsPod, when: float) -> None:
        self.told_at[pod.uid] = when
        number = len(self.pods) + 1
        self.pods.append(CoreDnsPod(f"coredns-{number}", f"u{number}", "n1", (f"10.0.0.{number}",)))
        self.born_at[f"u{number}"] = when + (1e9 if self.stuck else 0)

    def restart(self, of: CoreDnsDeployment, dry: bool = False) -> ProbeFailure | None:
        if not dry:
            self.done.append("restart")
            for place, pod in enumerate(list(self.pods)):
                self._ends(pod, self.now + 6 * place)
        return self.refuses.get("restart")

    def evict(self, pod: CoreDnsPod, dry: bool = False) -> ProbeFailure | None:
        if dry:
            return self.refuses.get("evict")
        self.done.append(f"evict {pod.name}")
        said = self.says.pop(0) if self.says else None
        if said is None or said.is_uncertain:
            self._ends(pod, self.now)
        return said

    # the namespace of the pods that ask
    def pod_security(self) -> str | Unknown:
        return ""

    def owners(self) -> tuple[ProbeOwner, ...] | Unknown:
        return self.owners_are

    def create_owner(self, doc: Doc, is_dry_run: bool = False) -> ProbeOwner | ProbeFailure:
        if "owner" in self.refuses:
            return self.refuses["owner"]
        name = doc["metadata"]["name"]
        if not is_dry_run:
            self.made[name] = doc
        return ProbeOwner(next(iter(doc["metadata"]["labels"].values())), name, "uid-of-owner")

    def create_pod(self, doc: Doc, is_dry_run: bool = False) -> ProbeFailure | None:
        if "pod" in self.refuses:
            return self.refuses["pod"]
        if not is_dry_run:
            self.made[doc["metadata"]["name"]] = doc
            self.began[doc["metadata"]["name"]] = self.now + 1
        return None

    def _stand_of(self, name: str) -> str:
        return next((how for end, how in self.stands.items() if name.endswith(end)), "runs")

    def stands_now(self) -> dict[str, ProbePodStatus]:
        pods = [name for name, doc in self.made.items() if doc["kind"] == "Pod"]
        return {name: replace(STANDS[self._stand_of(name)], name=name) for name in pods}

    def log(self, pod: str) -> str | Unknown:
        if "log" in self.refuses:
            return Unknown(self.refuses["log"].why, self.refuses["log"].missing)
        asked = json.loads(self.made[pod]["spec"]["containers"][0]["command"][-1])
        began = self.began[pod]
        wall = START.timestamp() + began
        lines: list[Doc] = [{"program": "eksdoc-dns-load", "version": 1, "began": wall, "seconds": asked["seconds"]}]
        for t in range(max(0, int(self.now - began - asked["timeout"] - 1.5))):
            for target in asked["targets"]:
                lines += [
                    self._line(t, target, by, began)
                    for by in (*asked["transports"], *(("udp-kept",) if target["kept"] else ()))
                ]
        return "".join(f"{json.dumps(line)}\n" for line in lines)

    def _line(self, t: int, target: Doc, by: str, began: float) -> Doc:
        bad = 0 if self._answered(target["address"], began + t) else 5
        line: Doc = {"t": t, "to": target["name"], "by": by, "sent": 10, "answered": 10 - bad, "late": 0, "lost": bad}
        if self.busy(t):
            line |= {"sent": 4, "answered": 4, "lost": 0}
        unsent = 6 if self.busy(t) else 0
        return line | {"refused": 0, "failed": 0, "unsure": 0, "unsent": unsent, "ms": [0.4, 0.8, 1.2], "why": []}

    def _answered(self, address: str, when: float) -> bool:
        """The answers of the service: every endpoint that the proxies know answers."""
        answers = {pod.addresses[0]: self._answers(pod, when) for pod in self.pods}
        if address in answers:
            return answers[address]
        known = [pod for pod in self.pods if when < self.told_at.get(pod.uid, 1e9) + self.away_s]
        old = [pod for pod in known if self.born_at.get(pod.uid, -1e9) + self.starts_s <= when]
        return all(self._answers(pod, when) for pod in old)

    def _answers(self, pod: CoreDnsPod, when: float) -> bool:
        return when < self.told_at.get(pod.uid, 1e9) + self.lame_s

    def remove(self, owner: ProbeOwner) -> Unknown | None:
        if "remove" in self.refuses:
            return Unknown(self.refuses["remove"].why, self.refuses["remove"].missing)
        self.done.append(f"remove {owner.name}")
        self.made.clear()
        return None


class Ground:
    """The simulated cluster as `ports.ProbeNamespace`: the statuses of client pods and CoreDNS pods share one name
    there."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.pod_security, self.owners, self.create_owner = world.pod_security, world.owners, world.create_owner
        self.create_pod, self.log, self.remove = world.create_pod, world.log, world.remove

    def pod_states(self, probe: str) -> Mapping[str, ProbePodStatus] | Unknown:
        return self._world.stands_now()
