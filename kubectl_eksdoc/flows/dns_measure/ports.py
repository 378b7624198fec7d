"""CoreDNS of a cluster, as far as it is looked at and sent away while DNS is asked."""

from __future__ import annotations

from typing import Protocol

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.dns_measure import DnsPod, DnsService, DnsStand, DnsWorkload
from kubectl_eksdoc.core.model.probe_pods import NotMade


class Dns(Protocol):
    """Everything may raise Unauthorized or ConfigError: nothing can be asked any more. `missing` is the right without
    which something is not had or done."""

    def service(self) -> DnsService | Absent | Unknown: ...

    def workload(self) -> DnsWorkload | Absent | Unknown: ...

    def stand(self) -> DnsStand | Unknown:
        """How it stands now; asked once, whoever wants to know asks again."""
        ...

    def restart(self, of: DnsWorkload, dry: bool = False) -> NotMade | None:
        """The rollout of exactly this Deployment, as ``kubectl rollout restart`` does. None: it was taken in."""
        ...

    def evict(self, pod: DnsPod, dry: bool = False) -> NotMade | None:
        """Exactly this pod, its budget respected (`NotMade.later`)."""
        ...
