"""CoreDNS looked at once a second, by whoever waits for something."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.dns_measure import DnsStand
from kubectl_eksdoc.flows.dns_measure.ports import Dns
from kubectl_eksdoc.flows.probe_pods import LOOK_S, Clock


class Looking:
    """Mutable: it keeps how CoreDNS stood at each look; `unseen`: why the last one saw nothing, or not all. `told`: how
    often the process was told to end; `seen_s`: when something was seen last, by the clock."""

    def __init__(self, dns: Dns, clock: Clock, told: Callable[[], int]) -> None:
        self._dns = dns
        self.clock = clock
        self._told = told
        self.stands: list[DnsStand] = []
        self.unseen = ""
        self.seen_s = 0.0

    @property
    def told(self) -> bool:
        return self._told() > 0

    @property
    def last(self) -> DnsStand | None:
        return self.stands[-1] if self.stands else None

    def look(self) -> None:
        found = self._dns.stand()
        if isinstance(found, Unknown):
            self.unseen = found.why
        else:
            self.unseen = found.serving.why if isinstance(found.serving, Unknown) else ""
            self.stands.append(found)
            self.seen_s = self.clock.monotonic()

    def until(self, holds: Callable[[], bool], longest_s: float) -> bool:
        """Whether it came to hold; False as well where the process was told to end."""
        begun_s = self.clock.monotonic()
        while not self.told:
            self.look()
            if holds():
                return True
            left_s = longest_s - (self.clock.monotonic() - begun_s)
            if left_s <= 0:
                return False
            self.clock.sleep(min(LOOK_S, left_s))
        return False

    def for_s(self, seconds: float) -> None:
        self.until(lambda: False, seconds)
