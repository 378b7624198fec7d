"""Logs of probe pods on a simulated cluster: metadata service probes and DNS measurements. Each node has the metadata
service that its instance options define, and packets are dropped where they would be.

Source: as in `amazon.metadata_service` and `imds_probe.probe_diagnosis`; the packet tests check the script itself
against the same rules.
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

# Logs of DNS measurement pods on a simulated cluster, derived from the life of its CoreDNS pods.
#
# A CoreDNS pod answers from its readiness until the end of its lameduck time, or of its grace period (SIGKILL). The
# proxy sends queries to it from a while after its readiness until a while after its termination started: queries to a
# pod that no longer answers are lost. Sources: coredns, plugin/health/health.go; EKS best practices, cluster-services
# ("propagating new endpoints … between 1 to 10 seconds"). The tests check real sockets against the same rules.


PROPAGATION_S = 2.0
"""Propagation time of endpoints in a small cluster."""
CLOSING_S = 0.2

_FOREVER = float("inf")
_TOLD_AFTER_S = 1.5
_MS = [0.41, 0.93, 1.27]


@dataclass(slots=True)
class _Life:
    """The life of one CoreDNS pod, in virtual seconds. Mutable: its end comes later."""

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
    """DNS of one control plane, whose clock runs `speed` times as fast as that of the measurement pods: these use the
    `real_now` clock, like their creator. Mutable: it watches its pods."""

    def __init__(self, plane: ControlPlane, speed: float, wall: Callable[[], datetime] = _wall) -> None:
        self._plane = plane
        self._speed = speed
        self._wall = wall
        self._lives: dict[str, _Life] = {}
        for item in plane.store.list("pods"):
            self._see(item, since=-_FOREVER)
        plane.store.listen(self._notice)

    def lameduck_s(self) -> float:
        """Return the lameduck time of the current Corefile, which CoreDNS has reloaded by the time it ends."""
        held = self._plane.store.get("configmaps", (SYSTEM, NAME))
        text = at(held.doc, "data", COREFILE) if held is not None else None
        corefile = parse(text) if isinstance(text, str) else None
        return (lameduck_s(corefile) or 0.0) if isinstance(corefile, Corefile) else 0.0

    def stop_s(self, pod: Pod) -> float | None:
        """Return how long a pod takes to stop; None if it is not a CoreDNS pod."""
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
        """Return the log of a DNS measurement pod; None for any other pod."""
        if container != MARKS.container or MEASURE_LABEL not in (at(pod, "metadata", "labels") or {}):
            return None
        asked, started = _asked(pod), _began(pod)
        if asked is None or started is None:
            return ""
        asking_s = (self._plane.agenda.now - started) / timedelta(seconds=1)  # virtual seconds
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
                # A reused flow goes to one endpoint until the proxy removes that endpoint and the flow.
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
    """`options` by node name: a node without options has no service. `blocked`: nodes on which a policy drops packets
    from pods without host network to the service; `hops`: the distance of those pods. `instances`: instance IDs by node
    name; other nodes get a generated ID."""

    options: Mapping[str, MetadataOptions] = field(default_factory=dict)
    instances: Mapping[str, str] = field(default_factory=dict)
    blocked: Set[str] = frozenset()
    hops: int = POD

    def logs(self, pod: Doc, container: str) -> str | None:
        """Return the log of a probe pod; None for any other pod."""
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
    """Return an instance ID for a node without a known one, the same in every process."""
    made = 0
    for byte in node.encode():
        made = (made * 257 + byte) % (1 << 64)
    return f"i-{made:017x}"


RUN_S = 8.0


@frozen
class WithProbes:
    """A `KubeletTimes`: as `base_times`, except that probe pods end by themselves, DNS measurement pods do not, and
    CoreDNS pods stop as `dns` says."""

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


# CoreDNS pods on a simulated cluster and their Corefile: when they reload it, their logs, and their metrics.
#
# Sources: coredns, plugin/reload/{reload,metrics,setup}.go; the kubelet updates a changed ConfigMap at its next sync.


METRICS_PORT = 9153
_MAPS = "configmaps"
_SYNC_S, _SPREAD_S = 20, 55
"""Seconds after a change when a pod reloads it: at least the first, at most the first plus the second. They stand for
the kubelet's sync, and the interval of reload with its jitter. The pod's name decides the value, so that it is always
the same."""


@dataclass(slots=True)
class _Told:
    """Mutable: log lines of a pod with their times; the hash in its metrics, "" without one; failed reloads."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    metric: str = ""
    failed: int = 0


class Resolvers:
    """Mutable: it stores every Corefile since its creation. `refusing_pods`: pods that refuse a new one, by name, each
    with the reason; "" is a pod that never reloads."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.stubborn: dict[str, str] = {}
        first = plane.store.get(_MAPS, (SYSTEM, NAME))
        self._texts: list[tuple[float, str]] = []
        if first is not None:
            self._learn(float("-inf"), first.doc)
        plane.store.listen(self._note)

    def lines(self, pod: Doc, container: str) -> tuple[tuple[float, str], ...] | None:
        """Return the log lines of a CoreDNS pod, each with its age in seconds; None for any other pod."""
        if not self._is_one(pod) or container != NAME:
            return None
        now = self._plane.agenda.seconds
        return tuple((now - when, line) for when, line in self._told(pod).lines)

    def answer(self, pod: Doc, port: str, path: str) -> Reply | None:
        """Return the response of a CoreDNS pod on one of its ports; None if nothing listens."""
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
        """Return the Corefile that runs after an attempted reload."""
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
