"""What the probes of the metadata service print on a simulated cluster: each node has the service that its instance's
options make, and packets are lost where they would be.

Source of what is answered: as in `core.rules.metadata_service` and `core.plan.metadata.probing.diagnosis`; the packet
tests hold the script itself against the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.aws.machines import MetadataOptions
from kubectl_eksdoc.core.model.dns_measure import MEASURE_LABEL
from kubectl_eksdoc.core.model.metadata_probe import PROBE_LABEL, Ask, Report, Seen, Step, log_of
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.metadata_service import HOST, POD, REQUIRED
from kubectl_eksdoc.core.sim.cluster.kubelets import NEVER, Pace
from kubectl_eksdoc.embedded.asked_dns import AskedDns

_TIMEOUT = 28
_CONNECT_MS, _ANSWER_MS = 2000.0, 3000.0


@dataclass(frozen=True, slots=True)
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
            return log_of(Report(_NOTHING, _NOTHING))
        seen = _seen(options, HOST if on_host else self.hops, self.instances.get(node) or _an_id(node))
        return log_of(Report(seen, seen if options.ipv6 else _NOTHING))


def _seen(options: MetadataOptions, hops: int, instance: str) -> Seen:
    if not options.endpoint:
        return Seen((_answered(Ask.V1, 403), _answered(Ask.TOKEN, 403)))
    v1 = _answered(Ask.V1, 401 if options.tokens == REQUIRED else 200)
    if options.hop_limit >= hops:
        return Seen((v1, _answered(Ask.TOKEN, 200), _answered(Ask.V2, 200)), instance)
    return Seen((v1, Step(Ask.TOKEN, _TIMEOUT, 0, 0.3, _ANSWER_MS)), instance if v1.code == 200 else "")


def _an_id(node: str) -> str:
    """The same in every process, for an instance of which nobody tells."""
    made = 0
    for byte in node.encode():
        made = (made * 257 + byte) % (1 << 64)
    return f"i-{made:017x}"


RUN_S = 8.0


@dataclass(frozen=True, slots=True)
class WithProbes:
    """A `Pace`: as `pace`, but that the pods of probes end by themselves, those that measure DNS do not, and those of
    CoreDNS stop as `dns` says."""

    pace: Pace
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


def _answered(ask: Ask, code: int) -> Step:
    return Step(ask, 0, code, 0.3, 1.0)


_NOTHING = Seen(tuple(Step(ask, _TIMEOUT, 0, None, _CONNECT_MS) for ask in (Ask.V1, Ask.TOKEN)))
