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
from kubectl_eksdoc.core.model.metadata_probe import Ask, Report, Seen, Step, log_of
from kubectl_eksdoc.core.rules.metadata_service import HOST, POD, REQUIRED

LABEL = "eksdoc.io/imds-probe"
_TIMEOUT = 28
_CONNECT_MS, _ANSWER_MS = 2000.0, 3000.0


@dataclass(frozen=True, slots=True)
class MetadataServices:
    """`options` of the nodes by their names: a node without any has no service. `blocked`: nodes on which a policy
    drops what pods on a network of their own send there; `hops`: how far away those are."""

    options: Mapping[str, MetadataOptions] = field(default_factory=dict)
    blocked: Set[str] = frozenset()
    hops: int = POD

    def logs(self, pod: Doc, container: str) -> str | None:
        """Of a probe's pod; None of any other."""
        if LABEL not in (at(pod, "metadata", "labels") or {}):
            return None
        node, on_host = str(at(pod, "spec", "nodeName") or ""), bool(at(pod, "spec", "hostNetwork"))
        options = self.options.get(node)
        if options is None or (node in self.blocked and not on_host):
            return log_of(Report(_NOTHING, _NOTHING))
        seen = _seen(options, HOST if on_host else self.hops, f"i-{_number(node):017x}")
        return log_of(Report(seen, seen if options.ipv6 else _NOTHING))


def _seen(options: MetadataOptions, hops: int, instance: str) -> Seen:
    if not options.endpoint:
        return Seen((_answered(Ask.V1, 403), _answered(Ask.TOKEN, 403)))
    v1 = _answered(Ask.V1, 401 if options.tokens == REQUIRED else 200)
    if options.hop_limit >= hops:
        return Seen((v1, _answered(Ask.TOKEN, 200), _answered(Ask.V2, 200)), instance)
    return Seen((v1, Step(Ask.TOKEN, _TIMEOUT, 0, 0.3, _ANSWER_MS)), instance if v1.code == 200 else "")


def _number(name: str) -> int:
    """The same in every process, for an id of an instance that nobody tells."""
    made = 0
    for byte in name.encode():
        made = (made * 257 + byte) % (1 << 64)
    return made


def _answered(ask: Ask, code: int) -> Step:
    return Step(ask, 0, code, 0.3, 1.0)


_NOTHING = Seen(tuple(Step(ask, _TIMEOUT, 0, None, _CONNECT_MS) for ask in (Ask.V1, Ask.TOKEN)))
