"""Comparison of a check with an earlier one: the codes that both looked for, and unknown answers that hide findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.addon_diff.plan import OF_FIELDS
from kubectl_eksdoc.amazon.versions import in_words
from kubectl_eksdoc.baseline.changes import ResultComparison, outline_of
from kubectl_eksdoc.baseline.side import Side, SnapshotOrigin, made_earlier, read_of, since
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.kinds import CheckNeed

from .checking import AS_ONE, asked_of, kin_of
from .plan import CheckPlan
from .registry import ALL, codes_of

_SYMPTOM, _FILES, _GATE = "symptom", "filename", "gate"
_NARROWING = (_SYMPTOM, _FILES, _GATE, "only", "area", "without", "changed-since", "refresh-insights", "target")
"""Options that leave out findings. `_beyond_target` handles another target."""

_WIDE = frozenset(code.name for check in ALL if AS_ONE & set(check.needs) for code in check.codes)

_ON_ANY_WAY = frozenset(
    code.name
    for check in ALL
    if {CheckNeed.PLAN_DRAIN, CheckNeed.PLAN_IMDS, *AS_ONE} & set(check.needs)
    for code in check.codes
)
"""Codes of commands that do not depend on the target."""

_MINOR = re.compile(r"\d+\.(\d{1,4})\Z")
"""The minor version at the end of an upgrade path such as ``1.33 → 1.34``."""


def against(earlier: SavedResult, plan: CheckPlan, options: Mapping[str, object]) -> ResultComparison:
    """The changes since the earlier result.

    Raises:
        BaselineError: the earlier result is of another cluster.
    """
    cluster, kin, needs = plan.facts.cluster, _kin(), _needs()
    asked = frozenset(name for judged in plan.judged for name in asked_of(judged.check, plan.wish.only))
    then = Side(
        earlier.findings,
        earlier.suppressed,
        None if earlier.codes is None else _looked_for(_wanted(earlier), earlier.options, options),
        earlier.read,
        needs,
        kin=kin,
        wide=_WIDE,
    )
    now = Side(
        tuple(map(outline_of, plan.findings)),
        tuple(outline_of(each.finding) for each in plan.suppressed),
        _looked_for(asked, options, earlier.options),
        read_of(cluster),
        needs,
        kin=kin,
        wide=_WIDE,
        apart=OF_FIELDS,
        hides=_beyond(earlier, plan),
    )
    return since(earlier, cluster, then, now, options, _NARROWING, _notes(earlier, plan))


def as_earlier(of: SnapshotOrigin, plan: CheckPlan) -> SavedResult:
    """`plan`, made from an earlier snapshot, as if its JSON document had been saved and read."""
    made = made_earlier(of, plan.facts.cluster, plan.findings, (each.finding for each in plan.suppressed))
    codes = frozenset(code.name for judged in plan.judged for code in judged.check.codes)
    return replace(made, codes=codes, way=_way(plan))


def _way(plan: CheckPlan) -> str:
    return f"{in_words(plan.facts.way.now)} → {in_words(plan.facts.way.target)}"


def _notes(earlier: SavedResult, plan: CheckPlan) -> tuple[str, ...]:
    way = _way(plan)
    if not earlier.way or earlier.way == way:
        return ()
    return (f"The earlier answer is about {earlier.way}, this one about {way}: what came or went may be the way's.",)


def _beyond(earlier: SavedResult, plan: CheckPlan) -> dict[FindingOutline, str]:
    """Earlier findings on a path that leads beyond the present target: they may still be true. With the reason."""
    then, now = _MINOR.search(earlier.way), plan.facts.way.target.minor
    if then is None or int(then.group(1)) <= now:
        return {}
    why = f"this answer looks no further than {in_words(plan.facts.way.target)}"
    return {each: why for each in (*earlier.findings, *earlier.suppressed) if each.code not in _ON_ANY_WAY}


def _wanted(earlier: SavedResult) -> frozenset[str]:
    """The codes that the earlier result shows: --only hides other codes of a check that was made."""
    only, areas = (_listed(earlier.options, flag) for flag in ("only", "area"))
    named = only.union(codes_of(areas))
    codes = earlier.codes or frozenset()
    if not named:
        return codes
    return codes & (named | {name for check in ALL for name in asked_of(check, named)})


def _looked_for(codes: frozenset[str], options: Mapping[str, object], others: Mapping[str, object]) -> frozenset[str]:
    """The codes whose findings are shown: a symptom hides those that cannot cause it, and manifests differ by files."""
    symptom = options.get(_SYMPTOM)
    if symptom and symptom != others.get(_SYMPTOM):
        return frozenset()
    if options.get(_GATE) and options.get(_GATE) != others.get(_GATE):
        codes -= _of_several_gates()
    files, wanted = _listed(options, _FILES), _listed(others, _FILES)
    return codes if files and files >= wanted else codes - {"api-in-manifest"}


def _of_several_gates() -> frozenset[str]:
    """Codes that are looked for at more than one gate: with --gate only some of their findings are shown."""
    gates = {(code.name, check.gate) for check in ALL for code in check.codes}
    return frozenset(name for name, several in Counter(name for name, _ in gates).items() if several > 1)


def _listed(options: Mapping[str, object], flag: str) -> frozenset[str]:
    found = options.get(flag)
    return frozenset(map(str, found)) if isinstance(found, (list, tuple)) else frozenset()


def _needs() -> dict[str, frozenset[str]]:
    """The lists that the checks of each code judge by, and those of the command that a check summarizes, by the name
    of the code."""
    return {
        code.name: frozenset(kind.full_name for kind in (*check.kinds, *code.needs))
        for check in ALL
        for code in check.codes
    }


def _kin() -> dict[str, frozenset[str]]:
    """The related codes of each code: an unknown answer of a whole command hides all that the command would find."""
    return {code.name: kin_of(check, code.name) for check in ALL for code in check.codes}
