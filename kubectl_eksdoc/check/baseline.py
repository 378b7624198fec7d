"""Comparison of a check with an earlier one: the codes that both looked for, and unknown answers that hide findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.addon_diff.plan import FIELD_CODES
from kubectl_eksdoc.amazon.versions import format_version
from kubectl_eksdoc.baseline.changes import ResultComparison, outline_of
from kubectl_eksdoc.baseline.side import ResultSide, SnapshotOrigin, compare_with_saved, complete_kinds, saved_result
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.kinds import CheckNeed

from .checking import COMBINED_NEEDS, related_codes, requested_codes
from .plan import CheckPlan
from .registry import ALL_CHECKS, codes_of_areas

_SYMPTOM, _FILES, _GATE = "symptom", "filename", "gate"
_NARROWING_OPTIONS = (_SYMPTOM, _FILES, _GATE, "only", "area", "without", "changed-since", "refresh-insights", "target")
"""Options that leave out findings. `_beyond_target` handles another target."""

_COMBINED_CODES = frozenset(
    code.name for check in ALL_CHECKS if COMBINED_NEEDS & set(check.needs) for code in check.codes
)

_PATH_INDEPENDENT_CODES = frozenset(
    code.name
    for check in ALL_CHECKS
    if {CheckNeed.PLAN_DRAIN, CheckNeed.PLAN_IMDS, *COMBINED_NEEDS} & set(check.needs)
    for code in check.codes
)
"""Codes of commands that do not depend on the target."""

_MINOR = re.compile(r"\d+\.(\d{1,4})\Z")
"""The minor version at the end of an upgrade path such as ``1.33 → 1.34``."""


def compare_with_earlier(earlier: SavedResult, plan: CheckPlan, options: Mapping[str, object]) -> ResultComparison:
    """The changes since the earlier result.

    Raises:
        BaselineError: the earlier result is of another cluster.
    """
    cluster, related_codes, needs = plan.facts.cluster, _related_by_code(), _lists_by_code()
    requested = frozenset(name for judged in plan.judged for name in requested_codes(judged.check, plan.scope.only))
    earlier_side = ResultSide(
        earlier.findings,
        earlier.suppressed,
        None if earlier.codes is None else _searched_codes(_shown_codes(earlier), earlier.options, options),
        earlier.read,
        needs,
        related_codes=related_codes,
        wide_codes=_COMBINED_CODES,
    )
    current_side = ResultSide(
        tuple(map(outline_of, plan.findings)),
        tuple(outline_of(each.finding) for each in plan.suppressed),
        _searched_codes(requested, options, earlier.options),
        complete_kinds(cluster),
        needs,
        related_codes=related_codes,
        wide_codes=_COMBINED_CODES,
        per_part_codes=FIELD_CODES,
        hidden_findings=_beyond_target(earlier, plan),
    )
    return compare_with_saved(
        earlier, cluster, earlier_side, current_side, options, _NARROWING_OPTIONS, _notes(earlier, plan)
    )


def as_saved_result(origin: SnapshotOrigin, plan: CheckPlan) -> SavedResult:
    """`plan`, made from an earlier snapshot, as if its JSON document had been saved and read."""
    saved = saved_result(origin, plan.facts.cluster, plan.findings, (each.finding for each in plan.suppressed))
    codes = frozenset(code.name for judged in plan.judged for code in judged.check.codes)
    return replace(saved, codes=codes, way=_path_text(plan))


def _path_text(plan: CheckPlan) -> str:
    return f"{format_version(plan.facts.path.now)} → {format_version(plan.facts.path.target)}"


def _notes(earlier: SavedResult, plan: CheckPlan) -> tuple[str, ...]:
    path_text = _path_text(plan)
    if not earlier.way or earlier.way == path_text:
        return ()
    return (
        f"The earlier answer is about {earlier.way}, this one about {path_text}: what came or went may be the way's.",
    )


def _beyond_target(earlier: SavedResult, plan: CheckPlan) -> dict[FindingOutline, str]:
    """Earlier findings on a path that leads beyond the present target: they may still be true. With the reason."""
    earlier_minor, target_minor = _MINOR.search(earlier.way), plan.facts.path.target.minor
    if earlier_minor is None or int(earlier_minor.group(1)) <= target_minor:
        return {}
    reason = f"this answer looks no further than {format_version(plan.facts.path.target)}"
    return {
        each: reason for each in (*earlier.findings, *earlier.suppressed) if each.code not in _PATH_INDEPENDENT_CODES
    }


def _shown_codes(earlier: SavedResult) -> frozenset[str]:
    """The codes that the earlier result shows: --only hides other codes of a check that was made."""
    only, areas = (_option_values(earlier.options, flag) for flag in ("only", "area"))
    requested = only.union(codes_of_areas(areas))
    codes = earlier.codes or frozenset()
    if not requested:
        return codes
    return codes & (requested | {name for check in ALL_CHECKS for name in requested_codes(check, requested)})


def _searched_codes(
    codes: frozenset[str], options: Mapping[str, object], other_options: Mapping[str, object]
) -> frozenset[str]:
    """The codes whose findings are shown: a symptom hides those that cannot cause it, and manifests differ by files."""
    symptom = options.get(_SYMPTOM)
    if symptom and symptom != other_options.get(_SYMPTOM):
        return frozenset()
    if options.get(_GATE) and options.get(_GATE) != other_options.get(_GATE):
        codes -= _codes_of_several_gates()
    files, other_files = _option_values(options, _FILES), _option_values(other_options, _FILES)
    return codes if files and files >= other_files else codes - {"api-in-manifest"}


def _codes_of_several_gates() -> frozenset[str]:
    """Codes that are looked for at more than one gate: with --gate only some of their findings are shown."""
    gates = {(code.name, check.gate) for check in ALL_CHECKS for code in check.codes}
    return frozenset(name for name, count in Counter(name for name, _ in gates).items() if count > 1)


def _option_values(options: Mapping[str, object], flag: str) -> frozenset[str]:
    values = options.get(flag)
    return frozenset(map(str, values)) if isinstance(values, (list, tuple)) else frozenset()


def _lists_by_code() -> dict[str, frozenset[str]]:
    """The lists that the checks of each code judge by, and those of the command that a check summarizes, by the name
    of the code."""
    return {
        code.name: frozenset(kind.full_name for kind in (*check.kinds, *code.needs))
        for check in ALL_CHECKS
        for code in check.codes
    }


def _related_by_code() -> dict[str, frozenset[str]]:
    """The related codes of each code: an unknown answer of a whole command hides all that the command would find."""
    return {code.name: related_codes(check, code.name) for check in ALL_CHECKS for code in check.codes}
