"""What the pods that measure DNS print on a simulated cluster: by rule, from what happens to its CoreDNS pods.

A CoreDNS pod answers from when it is Ready until its lameduck is over, or until its grace period is (SIGKILL). The
proxy sends questions to it from a while after it is Ready until a while after it was told to end: what goes to one that
does not answer any more is lost. Sources: coredns, plugin/health/health.go; EKS best practices, cluster-services
("propagating new endpoints … between 1 to 10 seconds"). The tests hold real sockets against the same rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.coredns import COREFILE, NAME, SYSTEM, is_coredns
from kubectl_eksdoc.core.model.corefile import Corefile
from kubectl_eksdoc.core.model.dns_measure import KEPT, MARKS, MEASURE_LABEL
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.corefile.parser import parse
from kubectl_eksdoc.core.rules.corefile.plugins import lameduck_s
from kubectl_eksdoc.core.sim.cluster.conditions import condition
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, What

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

    def _notice(self, change: Change) -> None:
        if change.item.resource == "pods":
            self._see(change.item, self._plane.agenda.seconds)
            if change.what is What.DELETED and (life := self._lives.get(change.item.uid)) is not None:
                self._told(life, 0)

    def _see(self, item: Item, since: float) -> None:
        meta = item.doc["metadata"]
        if not is_coredns(str(meta.get("namespace")), meta.get("labels") or {}):
            return
        life = self._lives.get(item.uid)
        if life is None and (condition(item.doc, "Ready") or {}).get("status") == "True":
            addresses = [str(each["ip"]) for each in at(item.doc, "status", "podIPs") or ()]
            life = _Life(tuple(addresses or [str(at(item.doc, "status", "podIP") or "")]), since)
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
        lines = [{"asker": "eksdoc-dns-asker", "version": 1, "began": began.timestamp(), "seconds": asked["seconds"]}]
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
    text = at((at(pod, "status", "containerStatuses") or [{}])[0], "state", "running", "startedAt")
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc) if text else None
