"""The updates of add-ons against an earlier answer: which add-ons either was about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.baseline.changes import ResultComparison, outline_of
from kubectl_eksdoc.baseline.comparing import since
from kubectl_eksdoc.baseline.side import Scope, Side, SnapshotOrigin, made_earlier, needs_of, read_of
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.earlier import SavedResult

KIN = {
    code.name: frozenset({"addon-object-unread", "addon-field-unknown"})
    for code in (
        Code.of("addon-field-reset"),
        Code.of("addon-field-changed-in-every-mode"),
        Code.of("addon-field-conflict"),
        Code.of("addon-update-refused"),
        Code.of("addon-field-kept"),
        Code.of("addon-field-unknown"),
        Code.of("addon-ownership-grows"),
        Code.of("addon-other-writer"),
    )
}
"""An object that nobody could look at hides the effect on its fields."""

OF_FIELDS = frozenset(
    code.name
    for code in (
        Code.of("addon-field-reset"),
        Code.of("addon-field-changed-in-every-mode"),
        Code.of("addon-field-conflict"),
        Code.of("addon-field-kept"),
        Code.of("addon-field-unknown"),
        Code.of("addon-ownership-grows"),
    )
)
"""An object may have several of each, a field each."""

_NEEDS = needs_of(Code.of_area("addon"))
_KNOWN = frozenset(_NEEDS) | {code.name for code in Code.of_area("addon_past")}
"""What an older version may have found besides, nobody looks for here."""


def against(
    earlier: SavedResult, cluster: Cluster, plans: Sequence[AddonPlan], options: Mapping[str, object], whole: bool
) -> ResultComparison:
    """`whole`: every add-on of the cluster was looked at, so that one that is missing is not there any more.

    Raises:
        BaselineError: the earlier answer is of another cluster.
    """
    then = Side(earlier.findings, read=earlier.read, needs=_NEEDS, scope=_addons(earlier.addons), kin=KIN)
    names = _addons(plan.facts.addon.name for plan in plans)
    found = tuple(outline_of(each) for plan in plans for each in plan.findings)
    now = Side(
        found,
        read=read_of(cluster),
        needs=_NEEDS,
        codes=_KNOWN,
        scope=None if whole else names,
        kin=KIN,
        apart=OF_FIELDS,
    )
    return since(earlier, cluster, then, now, options)


def as_earlier(of: SnapshotOrigin, cluster: Cluster, plans: Sequence[AddonPlan]) -> SavedResult:
    """`plans` of what was read earlier, as their own document is read."""
    made = made_earlier(of, cluster, (each for plan in plans for each in plan.findings))
    return replace(made, addons=frozenset(plan.facts.addon.name for plan in plans))


def _addons(names: Iterable[str]) -> Scope:
    return frozenset(("Addon", name) for name in names)
