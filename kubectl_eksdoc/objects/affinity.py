"""What a pod's spec says about nodes and other pods: selectors, required affinity terms, spread constraints."""

from __future__ import annotations

from kubectl_eksdoc.model.placement import NodeTerm, PodTerm, Spread
from kubectl_eksdoc.model.selectors import Requirement
from kubectl_eksdoc.objects.structs import Expression, InternedTexts, LabelSelector, Lean, selector


class AffinityTerm(Lean):
    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeSelector(Lean):
    node_selector_terms: list[AffinityTerm] | None = None


class NodeAffinityEntry(Lean, rename={"required": "requiredDuringSchedulingIgnoredDuringExecution"}):
    required: NodeSelector | None = None


class PodTermEntry(Lean):
    topology_key: str | None = None
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class PodTermsEntry(Lean, rename={"required": "requiredDuringSchedulingIgnoredDuringExecution"}):
    required: list[PodTermEntry] | None = None


class AffinityEntry(Lean):
    """spec.affinity; what is only preferred decides nothing and is skipped."""

    node_affinity: NodeAffinityEntry | None = None
    pod_affinity: PodTermsEntry | None = None
    pod_anti_affinity: PodTermsEntry | None = None


class SpreadEntry(Lean):
    topology_key: str | None = None
    max_skew: int | None = None
    when_unsatisfiable: str | None = None
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


def node_terms(given: NodeSelector | None, share: InternedTexts) -> tuple[NodeTerm, ...] | None:
    """None where there is no node selector at all, which is not the same as one without terms."""
    if given is None:
        return None
    return tuple(
        NodeTerm(_requirements(t.match_expressions, share), _requirements(t.match_fields, share))
        for t in given.node_selector_terms or ()
    )


def pod_terms(given: PodTermsEntry | None, share: InternedTexts) -> tuple[PodTerm, ...]:
    return tuple(_pod_term(t, share) for t in (given.required if given else None) or ())


def spreads(given: list[SpreadEntry], share: InternedTexts) -> tuple[Spread, ...]:
    """The constraints that forbid; ScheduleAnyway only prefers."""
    return tuple(
        Spread(
            topology_key=share.text(c.topology_key),
            max_skew=1 if c.max_skew is None else c.max_skew,
            selector=selector(c.label_selector),
            min_domains=1 if c.min_domains is None else c.min_domains,
            honours_affinity=c.node_affinity_policy != "Ignore",
            honours_taints=c.node_taints_policy == "Honor",
            match_keys=share.texts(c.match_label_keys),
        )
        for c in given
        if c.when_unsatisfiable == "DoNotSchedule"
    )


def _pod_term(given: PodTermEntry, share: InternedTexts) -> PodTerm:
    chosen = given.namespace_selector
    return PodTerm(
        topology_key=share.text(given.topology_key),
        selector=selector(given.label_selector),
        namespaces=share.texts(given.namespaces),
        namespace_selector=None if chosen is None else selector(chosen),
        match_keys=share.texts(given.match_label_keys),
        mismatch_keys=share.texts(given.mismatch_label_keys),
    )


def _requirements(given: list[Expression] | None, share: InternedTexts) -> tuple[Requirement, ...]:
    text = share.text
    return tuple(Requirement(text(e.key), text(e.operator), share.texts(e.values)) for e in given or ())
