"""What the probes of the metadata service print on a simulated cluster: each node has the service that its instance's
options make, and packets are lost where they would be.

Source of what is answered: as in `amazon.metadata_service` and `imds_probe.probe_diagnosis`; the packet
tests hold the script itself against the same rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from kubectl_eksdoc.amazon.metadata_service import HOST, POD, REQUIRED
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile import parse
from kubectl_eksdoc.kubernetes.corefile_edits import sums
from kubectl_eksdoc.kubernetes.corefile_plugins import lameduck_s, refusals
from kubectl_eksdoc.kubernetes.schedules import parsed
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.coredns import (
    COREFILE,
    KEPT,
    MARKS,
    MEASURE_LABEL,
    NAME,
    SYSTEM,
    Corefile,
    CorefileRefusal,
    is_coredns,
)
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.metadata import PROBE_LABEL, Ask, FamilyAnswer, ProbeReport, ProbeStep, log_of
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.kubelets import NEVER, KubeletTimes
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoreChange, StoredItem

from .serving.requests import METRICS_TEXT, Reply

# What the pods that measure DNS print on a simulated cluster: by rule, from what happens to its CoreDNS pods.
#
# A CoreDNS pod answers from when it is Ready until its lameduck is over, or until its grace period is (SIGKILL). The
# proxy sends questions to it from a while after it is Ready until a while after it was told to end: what goes to one
# that does not answer any more is lost. Sources: coredns, plugin/health/health.go; EKS best practices, cluster-services
# ("propagating new endpoints … between 1 to 10 seconds"). The tests hold real sockets against the same rules.


PROPAGATION_S = 2.0
"""Of a small cluster."""
CLOSING_S = 0.2

_FOREVER = float("inf")
_TOLD_AFTER_S = 1.5
_MS = [0.41, 0.93, 1.27]


@dataclass(slots=True)
class _Life:
    """Of one CoreDNS pod, in virtual seconds. Mutable: its end comes later."""

    addresses: tuple[str, ...]
    ready: float
    told: float = _FOREVER
    answers_until: float = _FOREVER

    def answers(self, when: float) -> bool:
        return self.ready <= when < self.answers_until

    def in_service(self, when: float) -> bool:
        return self.ready + PROPAGATION_S <= when < self.told + PROPAGATION_S


def _wall() -> datetime:
    return datetime.now(timezone.utc)


class AskedDns:
    """Of one plane, whose seconds pass `speed` times as fast as those of the pods that ask: they live by the `wall`'s
    clock, as whoever made them does. Mutable: it watches its pods."""

    def __init__(self, plane: ControlPlane, speed: float, wall: Callable[[], datetime] = _wall) -> None:
        self._plane = plane
        self._speed = speed
        self._wall = wall
        self._lives: dict[str, _Life] = {}
        for item in plane.store.list("pods"):
            self._see(item, since=-_FOREVER)
        plane.store.listen(self._notice)

    def lameduck_s(self) -> float:
        """As the Corefile has it now; CoreDNS has reloaded it by the time it ends."""
        held = self._plane.store.get("configmaps", (SYSTEM, NAME))
        text = at(held.doc, "data", COREFILE) if held is not None else None
        corefile = parse(text) if isinstance(text, str) else None
        return (lameduck_s(corefile) or 0.0) if isinstance(corefile, Corefile) else 0.0

    def stop_s(self, pod: Pod) -> float | None:
        """How long a pod takes to stop; None: it is none of CoreDNS's."""
        mine = is_coredns(pod.namespace, pod.labels)
        return self.lameduck_s() + CLOSING_S if mine else None

    def _notice(self, change: StoreChange) -> None:
        if change.resource == "pods":
            self._see(change.item, self._plane.agenda.seconds)
            if change.gone and (life := self._lives.get(change.item.uid)) is not None:
                self._told(life, 0)

    def _see(self, item: StoredItem, since: float) -> None:
        meta = item.meta
        if not is_coredns(str(meta.get("namespace")), meta.get("labels") or {}):
            return
        life = self._lives.get(item.uid)
        if life is None and item.ready:
            addresses = [str(each["ip"]) for each in at(item.status, "podIPs") or ()]
            life = _Life(tuple(addresses or [str(at(item.status, "podIP") or "")]), since)
            self._lives[item.uid] = life
        if life is not None and item.leaving and life.told == _FOREVER:
            self._told(life, int(meta.get("deletionGracePeriodSeconds") or 0))

    def _told(self, life: _Life, grace_s: int) -> None:
        now = self._plane.agenda.seconds
        life.told = min(life.told, now)
        life.answers_until = min(life.answers_until, now + min(self.lameduck_s(), float(grace_s)))

    def logs(self, pod: Doc, container: str) -> str | None:
        """Of a pod that measures DNS; None of any other."""
        if container != MARKS.container or MEASURE_LABEL not in (at(pod, "metadata", "labels") or {}):
            return None
        asked, started = _asked(pod), _began(pod)
        if asked is None or started is None:
            return ""
        asking_s = (self._plane.agenda.now - started) / timedelta(seconds=1)  # virtual
        began_s, real_s = self._plane.agenda.seconds - asking_s, asking_s / self._speed
        began = self._wall() - timedelta(seconds=real_s)
        lines = [{"program": "eksdoc-dns-load", "version": 1, "began": began.timestamp(), "seconds": asked["seconds"]}]
        for second in range(int(max(0.0, min(real_s - asked["timeout"] - _TOLD_AFTER_S, asked["seconds"])))):
            lines += self._second(asked, began_s, second)
        return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)

    def _second(self, asked: Doc, began_s: float, second: int) -> Iterator[dict[str, Any]]:
        count = max(1, round(asked["rate"]))
        for target in asked["targets"]:
            for transport in (*asked["transports"], *((KEPT,) if target.get("kept") else ())):
                moments = [began_s + (second + number / count) * self._speed for number in range(count)]
                # A flow that is kept goes to one endpoint until the proxy has taken that out and forgets the flow.
                turns = [0] * count if transport == KEPT else range(count)
                answered = sum(map(partial(self._answers, target["address"]), moments, turns))
                yield {
                    "t": second,
                    "to": target["name"],
                    "by": transport,
                    "sent": count,
                    "answered": answered,
                    "late": 0,
                    "lost": count - answered,
                    "refused": 0,
                    "failed": 0,
                    "unsure": 0,
                    "unsent": 0,
                    "ms": _MS if answered else None,
                    "why": [],
                }

    def _answers(self, address: str, when: float, turn: int) -> bool:
        own = [life for life in self._lives.values() if address in life.addresses]
        if own:
            return any(life.answers(when) for life in own)
        behind = [life for life in self._lives.values() if life.in_service(when)]
        return bool(behind) and behind[turn % len(behind)].answers(when)


def _asked(pod: Doc) -> Doc | None:
    command = (at(pod, "spec", "containers") or [{}])[0].get("command") or []
    try:
        found: Doc = json.loads(command[-1])
    except (ValueError, IndexError):
        return None
    return found


def _began(pod: Doc) -> datetime | None:
    return parsed(at((at(pod, "status", "containerStatuses") or [{}])[0], "state", "running", "startedAt"))


_TIMEOUT = 28
_CONNECT_MS, _ANSWER_MS = 2000.0, 3000.0


@frozen
class MetadataServices:
    """`options` of the nodes by their names: a node without any has no service. `blocked`: nodes on which a policy
    drops what pods on a network of their own send there; `hops`: how far away those are. `instances`: ids by the names
    of nodes; others get one that is made up."""

    options: Mapping[str, MetadataOptions] = field(default_factory=dict)
    instances: Mapping[str, str] = field(default_factory=dict)
    blocked: Set[str] = frozenset()
    hops: int = POD

    def logs(self, pod: Doc, container: str) -> str | None:
        """Of a probe's pod; None of any other."""
        if PROBE_LABEL not in (at(pod, "metadata", "labels") or {}):
            return None
        node, on_host = str(at(pod, "spec", "nodeName") or ""), bool(at(pod, "spec", "hostNetwork"))
        options = self.options.get(node)
        if options is None or (node in self.blocked and not on_host):
            return log_of(ProbeReport(_NOTHING, _NOTHING))
        seen = _seen(options, HOST if on_host else self.hops, self.instances.get(node) or _an_id(node))
        return log_of(ProbeReport(seen, seen if options.ipv6 else _NOTHING))


def _seen(options: MetadataOptions, hops: int, instance: str) -> FamilyAnswer:
    if not options.endpoint:
        return FamilyAnswer((_answered(Ask.V1, 403), _answered(Ask.TOKEN, 403)))
    v1 = _answered(Ask.V1, 401 if options.tokens == REQUIRED else 200)
    if options.hop_limit >= hops:
        return FamilyAnswer((v1, _answered(Ask.TOKEN, 200), _answered(Ask.V2, 200)), instance)
    return FamilyAnswer((v1, ProbeStep(Ask.TOKEN, _TIMEOUT, 0, 0.3, _ANSWER_MS)), instance if v1.code == 200 else "")


def _an_id(node: str) -> str:
    """The same in every process, for an instance of which nobody tells."""
    made = 0
    for byte in node.encode():
        made = (made * 257 + byte) % (1 << 64)
    return f"i-{made:017x}"


RUN_S = 8.0


@frozen
class WithProbes:
    """A `KubeletTimes`: as `pace`, but that the pods of probes end by themselves, those that measure DNS do not, and
    those of CoreDNS stop as `dns` says."""

    pace: KubeletTimes
    dns: AskedDns | None = None

    def start_s(self, pod: Pod) -> float:
        return self.pace.start_s(pod)

    def stop_s(self, pod: Pod) -> float:
        own_s = None if self.dns is None else self.dns.stop_s(pod)
        return self.pace.stop_s(pod) if own_s is None else own_s

    def run_s(self, pod: Pod) -> float:
        if MEASURE_LABEL in pod.labels:
            return NEVER
        return RUN_S if PROBE_LABEL in pod.labels else self.pace.run_s(pod)


def _answered(ask: Ask, code: int) -> ProbeStep:
    return ProbeStep(ask, 0, code, 0.3, 1.0)


_NOTHING = FamilyAnswer(tuple(ProbeStep(ask, _TIMEOUT, 0, None, _CONNECT_MS) for ask in (Ask.V1, Ask.TOKEN)))


# CoreDNS' pods on a simulated cluster, as far as their Corefile goes: when they take a new one up, what they print
# then, and what their metrics tell.
#
# Sources: coredns, plugin/reload/{reload,metrics,setup}.go; the kubelet brings a changed ConfigMap with its next sync.


METRICS_PORT = 9153
_MAPS = "configmaps"
_SYNC_S, _SPREAD_S = 20, 55
"""A pod takes a change up so long after it, at least, and so much longer at the most: the kubelet's sync, and the
interval of reload with its jitter; which it is, is decided by the pod's name, so that it is the same each time."""


@dataclass(slots=True)
class _Told:
    """Mutable: what a pod has printed, each line with when; `sums` of what it runs, "" for none it tells of."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    metric: str = ""
    failed: int = 0


class Resolvers:
    """Mutable: it knows every Corefile that there was since it was made. `stubborn`: pods that refuse a new one, by
    their names, each with why; "" stands for a pod that never looks."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.stubborn: dict[str, str] = {}
        first = plane.store.get(_MAPS, (SYSTEM, NAME))
        self._texts: list[tuple[float, str]] = []
        if first is not None:
            self._learn(float("-inf"), first.doc)
        plane.store.listen(self._note)

    def lines(self, pod: Doc, container: str) -> tuple[tuple[float, str], ...] | None:
        """What it has printed, each line with its age in seconds; None of any other pod."""
        if not self._is_one(pod) or container != NAME:
            return None
        now = self._plane.agenda.seconds
        return tuple((now - when, line) for when, line in self._told(pod).lines)

    def answer(self, pod: Doc, port: str, path: str) -> Reply | None:
        """What it says on one of its ports; None where nobody listens."""
        if not self._is_one(pod) or port != str(METRICS_PORT) or path.strip("/") != "metrics":
            return None
        told = self._told(pod)
        head = "# HELP coredns_reload_failed_total Counter of the number of failed reload attempts.\n"
        text = f"{head}# TYPE coredns_reload_failed_total counter\ncoredns_reload_failed_total {told.failed}\n"
        if told.metric:
            text += f'coredns_reload_version_info{{hash="sha512",value="{told.metric}"}} 1\n'
        return Reply(200, text.encode(), METRICS_TEXT)

    def _note(self, change: StoreChange) -> None:
        if change.resource == _MAPS and change.key == (SYSTEM, NAME):
            self._learn(self._plane.agenda.seconds, change.item.doc)

    def _learn(self, when: float, doc: Doc) -> None:
        text = at(doc, "data", COREFILE)
        if isinstance(text, str) and (not self._texts or self._texts[-1][1] != text):
            self._texts.append((when, text))

    @staticmethod
    def _is_one(pod: Doc) -> bool:
        return is_coredns(str(at(pod, "metadata", "namespace")), at(pod, "metadata", "labels") or {})

    def _told(self, pod: Doc) -> _Told:
        name, now = str(at(pod, "metadata", "name")), self._plane.agenda.seconds
        born = parsed(at(pod, "metadata", "creationTimestamp"))
        start_s = now - (self._plane.agenda.now - born).total_seconds() if born is not None else 0.0
        found = _Told()
        known = [text for when, text in self._texts if when <= start_s] or [text for _, text in self._texts[:1]]
        runs = parse(known[-1]) if known else None
        if not isinstance(runs, Corefile):
            return found
        if runs.has("reload"):
            found.lines.append((start_s, _running(runs)))
        later_s = float(_SYNC_S + sum(name.encode()) % _SPREAD_S)
        for when, text in self._texts:
            if start_s < when and when + later_s <= now and runs.has("reload"):
                runs = self._taken(name, runs, text, when + later_s, found)
        return found

    def _taken(self, name: str, runs: Corefile, text: str, when: float, found: _Told) -> Corefile:
        """What it runs then."""
        if self.stubborn.get(name) == "":
            return runs
        new = parse(text)
        if isinstance(new, CorefileRefusal):
            found.lines.append((when, f"[WARNING] plugin/reload: Corefile parse failed: {new}\n"))
            return runs
        if _sum(new) == _sum(runs):
            return runs
        why = next(map(str, refusals(new)), self.stubborn.get(name, ""))
        found.metric = _sum(new)
        found.lines.append((when, "[INFO] Reloading\n"))
        if why:
            found.failed += 1
            found.lines.append((when, f"[ERROR] plugin/reload: Corefile changed but reload failed: {why}\n"))
            return runs
        if new.has("reload"):
            found.lines.append((when, _running(new)))
        found.lines.append((when, "[INFO] Reloading complete\n"))
        return new


def _sum(corefile: Corefile) -> str:
    return next(iter(sums(corefile)), "0" * 128)


def _running(corefile: Corefile) -> str:
    return f"[INFO] plugin/reload: Running configuration SHA512 = {_sum(corefile)}\n"
