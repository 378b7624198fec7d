"""Which Services select a pod, without looking at all of them.

Source: staging/src/k8s.io/endpointslice/util/controller_utils.go (GetServicesToUpdateOnPodChange), Kubernetes v1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, What
from kubectl_eksdoc.core.sim.cluster.workloads import pods

_Pair = tuple[str, str, str]


class Memberships:
    """Mutable: Services by namespace and one label of their selector."""

    def __init__(self) -> None:
        self._selectors: dict[Key, dict[str, str]] = {}
        self._by_pair: dict[_Pair, dict[Key, None]] = defaultdict(dict)

    def note(self, change: Change) -> None:
        """A Service came, changed or went."""
        key = change.item.key
        before = self._selectors.pop(key, None)
        if before:
            self._by_pair[_pair(key, before)].pop(key, None)
        selector = change.item.doc["spec"].get("selector")
        if selector and change.what is not What.DELETED:
            self._selectors[key] = selector
            self._by_pair[_pair(key, selector)][key] = None

    def of(self, pod: Item) -> list[Key]:
        """The Services that select it."""
        labels = pods.labels_of(pod.doc)
        return [
            key
            for pair in labels.items()
            for key in self._by_pair.get((pod.key[0], *pair), ())
            if self._selectors[key].items() <= labels.items()
        ]

    def concerned(self, change: Change) -> Iterable[Key]:
        """Those whose endpoints may change with the pod."""
        if change.before is None or change.what is What.DELETED:
            return self.of(change.item)
        if _seen(change.before) == _seen(change.item):
            return ()
        return dict.fromkeys((*self.of(change.before), *self.of(change.item)))


def _pair(key: Key, selector: dict[str, str]) -> _Pair:
    return (key[0], *min(selector.items()))


def _seen(pod: Item) -> tuple[object, ...]:
    """All of a pod that its endpoints show."""
    status = pod.doc.get("status") or {}
    ips = status.get("podIPs") or status.get("podIP")
    shown = (ips, pods.labels_of(pod.doc), pods.node_of(pod.doc), pod.doc["spec"].get("hostname"))
    return (*shown, pods.is_ready(pod.doc), pods.is_finished(pod.doc), pod.leaving)
