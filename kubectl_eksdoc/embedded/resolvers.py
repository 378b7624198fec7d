"""CoreDNS' pods on a simulated cluster, as far as their Corefile goes: when they take a new one up, what they print
then, and what their metrics tell.

Sources: coredns, plugin/reload/{reload,metrics,setup}.go; the kubelet brings a changed ConfigMap with its next sync.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.coredns import COREFILE, NAME, SYSTEM, is_coredns
from kubectl_eksdoc.core.model.corefile import Corefile, Directive, Refusal
from kubectl_eksdoc.core.rules.corefile.digest import sums
from kubectl_eksdoc.core.rules.corefile.parser import parse
from kubectl_eksdoc.core.rules.corefile.plugins import refusals
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.core.sim.cluster.store import Change
from kubectl_eksdoc.embedded.serving.messages import Reply
from kubectl_eksdoc.objects.common import moment

METRICS_PORT = 9153
_MAPS = "configmaps"
_SYNC_S, _SPREAD_S = 20, 55
"""A pod takes a change up so long after it, at least, and so much longer at the most: the kubelet's sync, and the
interval of reload with its jitter; which it is, is decided by the pod's name, so that it is the same each time."""
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


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
        return Reply(200, text.encode(), _TEXT)

    def _note(self, change: Change) -> None:
        if change.item.resource == _MAPS and change.item.key == (SYSTEM, NAME):
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
        born = moment(at(pod, "metadata", "creationTimestamp"))
        start_s = now - (self._plane.agenda.now - born).total_seconds() if born is not None else 0.0
        found = _Told()
        known = [text for when, text in self._texts if when <= start_s] or [text for _, text in self._texts[:1]]
        runs = parse(known[-1]) if known else None
        if not isinstance(runs, Corefile):
            return found
        if _reloads(runs):
            found.lines.append((start_s, _running(runs)))
        later_s = _later_s(name)
        for when, text in self._texts:
            if start_s < when and when + later_s <= now and _reloads(runs):
                runs = self._taken(name, runs, text, when + later_s, found)
        return found

    def _taken(self, name: str, runs: Corefile, text: str, when: float, found: _Told) -> Corefile:
        """What it runs then."""
        if self.stubborn.get(name) == "":
            return runs
        new = parse(text)
        if isinstance(new, Refusal):
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
        if _reloads(new):
            found.lines.append((when, _running(new)))
        found.lines.append((when, "[INFO] Reloading complete\n"))
        return new


def _sum(corefile: Corefile) -> str:
    return next(iter(sums(corefile)), "0" * 128)


def _running(corefile: Corefile) -> str:
    return f"[INFO] plugin/reload: Running configuration SHA512 = {_sum(corefile)}\n"


def _reloads(corefile: Corefile) -> bool:
    held = (each for block in corefile.servers for each in corefile.whole(block))
    return any(isinstance(each, Directive) and each.name == "reload" for each in held)


def _later_s(name: str) -> float:
    return float(_SYNC_S + sum(name.encode()) % _SPREAD_S)
