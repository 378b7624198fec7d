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

from kubectl_eksdoc.amazon.metadata_service import HOST_HOPS, POD_HOPS, TOKENS_REQUIRED
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_edits import corefile_hashes
from kubectl_eksdoc.kubernetes.corefile_plugins import lameduck_s, refusals
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.coredns import (
    COREFILE_KEY,
    LOAD_GENERATOR_LABELS,
    MEASURE_LABEL,
    NAME,
    SYSTEM_NAMESPACE,
    UDP_KEPT,
    Corefile,
    CorefileError,
    is_coredns,
)
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.metadata import PROBE_LABEL, FamilyAnswer, ImdsRequest, ProbeReport, ProbeStep, format_log
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.kubelets import NEVER, KubeletTimes
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
CLOSE_S = 0.2

_FOREVER = float("inf")
_REPORT_DELAY_S = 1.5
_MS = [0.41, 0.93, 1.27]


@dataclass(slots=True)
class _PodLife:
    """The life of one CoreDNS pod, in virtual seconds. Mutable: its end comes later."""

    addresses: tuple[str, ...]
    ready: float
    terminating_from: float = _FOREVER
    answers_until: float = _FOREVER

    def answers_at(self, when: float) -> bool:
        return self.ready <= when < self.answers_until

    def is_in_service_at(self, when: float) -> bool:
        return self.ready + PROPAGATION_S <= when < self.terminating_from + PROPAGATION_S


def _real_time() -> datetime:
    return datetime.now(timezone.utc)


class MeasuredDns:
    """DNS of one control plane, whose clock runs `speed` times as fast as that of the measurement pods: these use the
    `real_now` clock, like their creator. Mutable: it watches its pods."""

    def __init__(self, plane: ControlPlane, speed: float, real_now: Callable[[], datetime] = _real_time) -> None:
        self._plane = plane
        self._speed = speed
        self._real_now = real_now
        self._lives: dict[str, _PodLife] = {}
        for item in plane.store.list("pods"):
            self._observe(item, since=-_FOREVER)
        plane.store.listen(self._handle_change)

    def lameduck_s(self) -> float:
        """Return the lameduck time of the current Corefile, which CoreDNS has reloaded by the time it ends."""
        config_map = self._plane.store.get("configmaps", (SYSTEM_NAMESPACE, NAME))
        text = nested_field(config_map.doc, "data", COREFILE_KEY) if config_map is not None else None
        corefile = parse_corefile(text) if isinstance(text, str) else None
        return (lameduck_s(corefile) or 0.0) if isinstance(corefile, Corefile) else 0.0

    def stop_s(self, pod: Pod) -> float | None:
        """Return how long a pod takes to stop; None if it is not a CoreDNS pod."""
        is_own = is_coredns(pod.namespace, pod.labels)
        return self.lameduck_s() + CLOSE_S if is_own else None

    def _handle_change(self, change: StoreChange) -> None:
        if change.resource == "pods":
            self._observe(change.item, self._plane.virtual_time.seconds)
            if change.is_deletion and (life := self._lives.get(change.item.uid)) is not None:
                self._start_termination(life, 0)

    def _observe(self, item: StoredItem, since: float) -> None:
        meta = item.meta
        if not is_coredns(str(meta.get("namespace")), meta.get("labels") or {}):
            return
        life = self._lives.get(item.uid)
        if life is None and item.ready:
            addresses = [str(each["ip"]) for each in nested_field(item.status, "podIPs") or ()]
            life = _PodLife(tuple(addresses or [str(nested_field(item.status, "podIP") or "")]), since)
            self._lives[item.uid] = life
        if life is not None and item.deleting and life.terminating_from == _FOREVER:
            self._start_termination(life, int(meta.get("deletionGracePeriodSeconds") or 0))

    def _start_termination(self, life: _PodLife, grace_s: int) -> None:
        now = self._plane.virtual_time.seconds
        life.terminating_from = min(life.terminating_from, now)
        life.answers_until = min(life.answers_until, now + min(self.lameduck_s(), float(grace_s)))

    def logs(self, pod: Doc, container: str) -> str | None:
        """Return the log of a DNS measurement pod; None for any other pod."""
        if container != LOAD_GENERATOR_LABELS.container or MEASURE_LABEL not in (
            nested_field(pod, "metadata", "labels") or {}
        ):
            return None
        measurement, started = _measurement_of(pod), _started_at(pod)
        if measurement is None or started is None:
            return ""
        measured_s = (self._plane.virtual_time.now - started) / timedelta(seconds=1)  # virtual seconds
        started_s, real_s = self._plane.virtual_time.seconds - measured_s, measured_s / self._speed
        started_at = self._real_now() - timedelta(seconds=real_s)
        lines = [
            {
                "program": "eksdoc-dns-load",
                "version": 1,
                "began": started_at.timestamp(),
                "seconds": measurement["seconds"],
            }
        ]
        for second in range(
            int(max(0.0, min(real_s - measurement["timeout"] - _REPORT_DELAY_S, measurement["seconds"])))
        ):
            lines += self._second_lines(measurement, started_s, second)
        return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)

    def _second_lines(self, measurement: Doc, started_s: float, second: int) -> Iterator[dict[str, Any]]:
        count = max(1, round(measurement["rate"]))
        for target in measurement["targets"]:
            for transport in (*measurement["transports"], *((UDP_KEPT,) if target.get("kept") else ())):
                query_times = [started_s + (second + number / count) * self._speed for number in range(count)]
                # A reused flow goes to one endpoint until the proxy removes that endpoint and the flow.
                turns = [0] * count if transport == UDP_KEPT else range(count)
                answered = sum(map(partial(self._is_answered, target["address"]), query_times, turns))
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

    def _is_answered(self, address: str, when: float, turn: int) -> bool:
        pod_lives = [life for life in self._lives.values() if address in life.addresses]
        if pod_lives:
            return any(life.answers_at(when) for life in pod_lives)
        in_service = [life for life in self._lives.values() if life.is_in_service_at(when)]
        return bool(in_service) and in_service[turn % len(in_service)].answers_at(when)


def _measurement_of(pod: Doc) -> Doc | None:
    command = (nested_field(pod, "spec", "containers") or [{}])[0].get("command") or []
    try:
        measurement: Doc = json.loads(command[-1])
    except (ValueError, IndexError):
        return None
    return measurement


def _started_at(pod: Doc) -> datetime | None:
    return parse_time(
        nested_field((nested_field(pod, "status", "containerStatuses") or [{}])[0], "state", "running", "startedAt")
    )


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
    hops: int = POD_HOPS

    def logs(self, pod: Doc, container: str) -> str | None:
        """Return the log of a probe pod; None for any other pod."""
        if PROBE_LABEL not in (nested_field(pod, "metadata", "labels") or {}):
            return None
        node, on_host = str(nested_field(pod, "spec", "nodeName") or ""), bool(nested_field(pod, "spec", "hostNetwork"))
        options = self.options.get(node)
        if options is None or (node in self.blocked and not on_host):
            return format_log(ProbeReport(_NO_ANSWER, _NO_ANSWER))
        observed = _observed_answers(
            options, HOST_HOPS if on_host else self.hops, self.instances.get(node) or _instance_id(node)
        )
        return format_log(ProbeReport(observed, observed if options.ipv6 else _NO_ANSWER))


def _observed_answers(options: MetadataOptions, hops: int, instance: str) -> FamilyAnswer:
    if not options.endpoint:
        return FamilyAnswer((_answered_step(ImdsRequest.V1, 403), _answered_step(ImdsRequest.TOKEN, 403)))
    v1 = _answered_step(ImdsRequest.V1, 401 if options.tokens == TOKENS_REQUIRED else 200)
    if options.hop_limit >= hops:
        return FamilyAnswer((v1, _answered_step(ImdsRequest.TOKEN, 200), _answered_step(ImdsRequest.V2, 200)), instance)
    return FamilyAnswer(
        (v1, ProbeStep(ImdsRequest.TOKEN, _TIMEOUT, 0, 0.3, _ANSWER_MS)), instance if v1.code == 200 else ""
    )


def _instance_id(node: str) -> str:
    """Return an instance ID for a node without a known one, the same in every process."""
    number = 0
    for byte in node.encode():
        number = (number * 257 + byte) % (1 << 64)
    return f"i-{number:017x}"


PROBE_RUN_S = 8.0


@frozen
class ProbeKubeletTimes:
    """A `KubeletTimes`: as `base_times`, except that probe pods end by themselves, DNS measurement pods do not, and
    CoreDNS pods stop as `dns` says."""

    base_times: KubeletTimes
    dns: MeasuredDns | None = None

    def start_s(self, pod: Pod) -> float:
        return self.base_times.start_s(pod)

    def stop_s(self, pod: Pod) -> float:
        dns_stop_s = None if self.dns is None else self.dns.stop_s(pod)
        return self.base_times.stop_s(pod) if dns_stop_s is None else dns_stop_s

    def run_s(self, pod: Pod) -> float:
        if MEASURE_LABEL in pod.labels:
            return NEVER
        return PROBE_RUN_S if PROBE_LABEL in pod.labels else self.base_times.run_s(pod)


def _answered_step(ask: ImdsRequest, code: int) -> ProbeStep:
    return ProbeStep(ask, 0, code, 0.3, 1.0)


_NO_ANSWER = FamilyAnswer(
    tuple(ProbeStep(ask, _TIMEOUT, 0, None, _CONNECT_MS) for ask in (ImdsRequest.V1, ImdsRequest.TOKEN))
)


# CoreDNS pods on a simulated cluster and their Corefile: when they reload it, their logs, and their metrics.
#
# Sources: coredns, plugin/reload/{reload,metrics,setup}.go; the kubelet updates a changed ConfigMap at its next sync.


METRICS_PORT = 9153
_CONFIG_MAPS = "configmaps"
_SYNC_S, _SPREAD_S = 20, 55
"""Seconds after a change when a pod reloads it: at least the first, at most the first plus the second. They stand for
the kubelet's sync, and the interval of reload with its jitter. The pod's name decides the value, so that it is always
the same."""


@dataclass(slots=True)
class _PodOutput:
    """Mutable: log lines of a pod with their times; the hash in its metrics, "" without one; failed reloads."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    metric: str = ""
    failed: int = 0


class CoreDnsPods:
    """Mutable: it stores every Corefile since its creation. `refusing_pods`: pods that refuse a new one, by name, each
    with the reason; "" is a pod that never reloads."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.refusing_pods: dict[str, str] = {}
        first = plane.store.get(_CONFIG_MAPS, (SYSTEM_NAMESPACE, NAME))
        self._texts: list[tuple[float, str]] = []
        if first is not None:
            self._add_corefile(float("-inf"), first.doc)
        plane.store.listen(self._handle_change)

    def lines(self, pod: Doc, container: str) -> tuple[tuple[float, str], ...] | None:
        """Return the log lines of a CoreDNS pod, each with its age in seconds; None for any other pod."""
        if not self._is_coredns_pod(pod) or container != NAME:
            return None
        now = self._plane.virtual_time.seconds
        return tuple((now - when, line) for when, line in self._output(pod).lines)

    def answer(self, pod: Doc, port: str, path: str) -> Reply | None:
        """Return the response of a CoreDNS pod on one of its ports; None if nothing listens."""
        if not self._is_coredns_pod(pod) or port != str(METRICS_PORT) or path.strip("/") != "metrics":
            return None
        output = self._output(pod)
        head = "# HELP coredns_reload_failed_total Counter of the number of failed reload attempts.\n"
        text = f"{head}# TYPE coredns_reload_failed_total counter\ncoredns_reload_failed_total {output.failed}\n"
        if output.metric:
            text += f'coredns_reload_version_info{{hash="sha512",value="{output.metric}"}} 1\n'
        return Reply(200, text.encode(), METRICS_TEXT)

    def _handle_change(self, change: StoreChange) -> None:
        if change.resource == _CONFIG_MAPS and change.key == (SYSTEM_NAMESPACE, NAME):
            self._add_corefile(self._plane.virtual_time.seconds, change.item.doc)

    def _add_corefile(self, when: float, doc: Doc) -> None:
        text = nested_field(doc, "data", COREFILE_KEY)
        if isinstance(text, str) and (not self._texts or self._texts[-1][1] != text):
            self._texts.append((when, text))

    @staticmethod
    def _is_coredns_pod(pod: Doc) -> bool:
        return is_coredns(
            str(nested_field(pod, "metadata", "namespace")), nested_field(pod, "metadata", "labels") or {}
        )

    def _output(self, pod: Doc) -> _PodOutput:
        name, now = str(nested_field(pod, "metadata", "name")), self._plane.virtual_time.seconds
        created_at = parse_time(nested_field(pod, "metadata", "creationTimestamp"))
        start_s = now - (self._plane.virtual_time.now - created_at).total_seconds() if created_at is not None else 0.0
        output = _PodOutput()
        earlier = [text for when, text in self._texts if when <= start_s] or [text for _, text in self._texts[:1]]
        corefile = parse_corefile(earlier[-1]) if earlier else None
        if not isinstance(corefile, Corefile):
            return output
        if corefile.has_plugin("reload"):
            output.lines.append((start_s, _running_line(corefile)))
        later_s = float(_SYNC_S + sum(name.encode()) % _SPREAD_S)
        for when, text in self._texts:
            if start_s < when and when + later_s <= now and corefile.has_plugin("reload"):
                corefile = self._reload(name, corefile, text, when + later_s, output)
        return output

    def _reload(self, name: str, corefile: Corefile, text: str, when: float, output: _PodOutput) -> Corefile:
        """Return the Corefile that runs after an attempted reload."""
        if self.refusing_pods.get(name) == "":
            return corefile
        new_corefile = parse_corefile(text)
        if isinstance(new_corefile, CorefileError):
            output.lines.append((when, f"[WARNING] plugin/reload: Corefile parse failed: {new_corefile}\n"))
            return corefile
        if _corefile_hash(new_corefile) == _corefile_hash(corefile):
            return corefile
        reason = next(map(str, refusals(new_corefile)), self.refusing_pods.get(name, ""))
        output.metric = _corefile_hash(new_corefile)
        output.lines.append((when, "[INFO] Reloading\n"))
        if reason:
            output.failed += 1
            output.lines.append((when, f"[ERROR] plugin/reload: Corefile changed but reload failed: {reason}\n"))
            return corefile
        if new_corefile.has_plugin("reload"):
            output.lines.append((when, _running_line(new_corefile)))
        output.lines.append((when, "[INFO] Reloading complete\n"))
        return new_corefile


def _corefile_hash(corefile: Corefile) -> str:
    return next(iter(corefile_hashes(corefile)), "0" * 128)


def _running_line(corefile: Corefile) -> str:
    return f"[INFO] plugin/reload: Running configuration SHA512 = {_corefile_hash(corefile)}\n"
