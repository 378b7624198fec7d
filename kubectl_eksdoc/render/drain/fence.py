"""The fence: all targets are cordoned before the first eviction, so that no replacement lands on one of them.

A plan reserves places only on nodes that are no targets. kube-scheduler knows nothing of that: on a target of a later
wave that is not cordoned yet it would place pods, which are then evicted twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model import selectors
from kubectl_eksdoc.core.model.nodes import EKSCTL_GROUP, MANAGED_GROUP, NODE_POOL, PROVISIONER
from kubectl_eksdoc.core.plan.drain.outcome import TargetVerdict
from kubectl_eksdoc.render.drain.invocation import NextStep, again, kubectl
from kubectl_eksdoc.render.drain.view import DrainView

NO_RE_EVICTIONS = "all targets are cordoned before the first eviction"

_MOST_NAMES = 100
"""A longer list of names is no line to copy any more."""


def fence(view: DrainView) -> NextStep | None:
    """What to do before the first eviction; None where a single node is drained, or none."""
    fenced = [t for t in view.targets if t.verdict is not TargetVerdict.REFUSED]
    if len(fenced) < 2 or not view.evictions:
        return None
    skipped = any(not target.order for target in fenced)
    names = [target.node.name for target in fenced]
    all_of_them = "both" if len(names) == 2 else f"all {len(names)}"
    text = (
        f"Cordon {all_of_them} targets{', skipped ones too,' if skipped else ''} before the first eviction: what lands "
        "on one of them is evicted twice"
    )
    by_label = _label(view, frozenset(names))
    if by_label:
        return NextStep(text, kubectl(view, "cordon", "-l", by_label))
    if len(names) <= _MOST_NAMES:
        return NextStep(text, kubectl(view, "cordon", *names))
    left_out = sum(not target.order for target in fenced)
    some = f"; this cordons those that are drained, the {left_out} skipped ones remain to be named" if skipped else ""
    return NextStep(text + some, f"{again(view, '-o', 'name')} | xargs {kubectl(view, 'cordon')}")


def _label(view: DrainView, names: frozenset[str]) -> str:
    """The selector by which the targets were chosen, "" where none selects exactly them.

    With new nodes their names are safer: those that have joined already have the labels of the old ones.
    """
    if view.plan.policy.surge is not None or view.options.get("older-than"):
        return ""
    chosen = (text for text in _selectors(view) if text)
    return next((text for text in chosen if _selected(view, text) == names), "")


def _selectors(view: DrainView) -> Iterable[str]:
    selector, groups = str(view.options.get("selector") or ""), view.options.get("nodegroup") or ()
    if not isinstance(groups, (list, tuple)) or not groups:
        yield selector
        return
    for label in (MANAGED_GROUP, NODE_POOL, PROVISIONER, EKSCTL_GROUP):
        named = f"{label}={groups[0]}" if len(groups) == 1 else f"{label} in ({','.join(map(str, groups))})"
        yield f"{selector},{named}" if selector else named


def _selected(view: DrainView, text: str) -> frozenset[str]:
    try:
        selector = selectors.parse(text)
    except selectors.InvalidSelector:
        return frozenset()
    return frozenset(node.name for node in view.cluster.nodes if selector.matches(node.labels))
