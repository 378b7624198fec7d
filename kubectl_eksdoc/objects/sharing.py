"""One value for what many objects repeat: names, label sets, owners, tolerations, placements."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.kubernetes.evictions import pre_stop_s
from kubectl_eksdoc.model.nodes import ControllerOwner, Toleration
from kubectl_eksdoc.model.selectors import NOTHING, Labels, Selector
from kubectl_eksdoc.objects.placement import PlacementDecoder
from kubectl_eksdoc.objects.pod_details import Callers, HostPaths
from kubectl_eksdoc.objects.structs import InternedTexts, LabelSelector, Lean, OwnerRef, RawCache, selector


class TolerationEntry(Lean):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class SharedTexts(InternedTexts):
    """The caches of one observation."""

    __slots__ = (
        "calls",
        "hosting",
        "labels",
        "owner",
        "placing",
        "pre_stop",
        "selector",
        "template_labels",
        "template_tolerations",
        "tolerations",
    )

    def __init__(self) -> None:
        super().__init__()
        self.placing = PlacementDecoder(self)
        self.calls = Callers(self)
        self.hosting = HostPaths(self)
        form: object = dict[str, str] | None
        self.labels: RawCache[dict[str, str], Labels] = RawCache("$.metadata.labels", form, self._labels, {})
        self.owner: RawCache[list[OwnerRef], ControllerOwner | None] = RawCache(
            "$.metadata.ownerReferences", list[OwnerRef] | None, self._owner, None
        )
        entries: object = list[TolerationEntry] | None
        self.tolerations: RawCache[list[TolerationEntry], tuple[Toleration, ...]] = RawCache(
            "$.spec.tolerations", entries, self._tolerations, ()
        )
        self.pre_stop: RawCache[dict[str, Any], int] = RawCache(
            "$.spec.containers[...].lifecycle",
            dict[str, Any] | None,
            lambda given: pre_stop_s(given.get("preStop")) or 0,
            0,
        )
        self.selector: RawCache[LabelSelector, Selector] = RawCache(
            "$.spec.selector", LabelSelector | None, selector, NOTHING
        )
        template = "$.spec.template"
        self.template_labels: RawCache[dict[str, str], Labels] = RawCache(
            f"{template}.metadata.labels", form, self._labels, {}
        )
        self.template_tolerations: RawCache[list[TolerationEntry], tuple[Toleration, ...]] = RawCache(
            f"{template}.spec.tolerations", entries, self._tolerations, ()
        )

    def _labels(self, given: dict[str, str]) -> Labels:
        text = self.text
        return {text(k): text(v) for k, v in given.items()}

    def _owner(self, references: list[OwnerRef]) -> ControllerOwner | None:
        """The controller, of which there is at most one (metav1.GetControllerOf)."""
        text = self.text
        for ref in references:
            if ref.controller:
                group = (ref.api_version or "").rpartition("/")[0]
                return ControllerOwner(text(ref.kind), text(ref.name), text(ref.uid), text(group))
        return None

    def _tolerations(self, entries: list[TolerationEntry]) -> tuple[Toleration, ...]:
        text = self.text
        return tuple(
            Toleration(text(e.key), text(e.operator) or "Equal", text(e.value), text(e.effect)) for e in entries
        )
