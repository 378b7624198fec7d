"""What may change in a pod's spec once it is stored: next to nothing, so that a pod is not moved by writing its node.

Source: pkg/apis/core/validation/validation.go (ValidatePodUpdate), Kubernetes v1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kubectl_eksdoc.kubernetes.api.workload_validation import DUPLICATE, FORBIDDEN, Problem
from kubectl_eksdoc.model.api_objects import Doc

_ONLY = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
_GATED = ("nodeSelector", "affinity")
"""What may change, too, as long as a pod waits behind scheduling gates."""


def problems(before: Doc | None, doc: Doc) -> tuple[Problem, ...]:
    """What is refused, where `doc` is written over `before` (None: it is new). What a spec leaves out and what is empty
    there is the same."""
    spec = doc.get("spec") or {}
    found = [*_of_names(spec)]
    if before is not None and _changes(before.get("spec") or {}, spec):
        found.append(Problem("spec", None, _ONLY, FORBIDDEN))
    return tuple(found)


def _of_names(spec: Doc) -> Iterator[Problem]:
    for kind in ("containers", "initContainers"):
        seen: Counter[str] = Counter()
        for index, each in enumerate(spec.get(kind) or ()):
            name = str(each.get("name") or "")
            if name and seen[name]:
                yield Problem(f"spec.{kind}[{index}].name", name, "", DUPLICATE)
            seen[name] += 1


def _changes(was: Doc, made: Doc) -> bool:
    free = {*_FREE, *(_GATED if was.get("schedulingGates") else ())}
    if (was.get("terminationGracePeriodSeconds") or 0) < 0 and made.get("terminationGracePeriodSeconds") == 1:
        free.add("terminationGracePeriodSeconds")
    if _fixed(was, free) != _fixed(made, free):
        return True
    return not (
        _all_in(was.get("tolerations"), made.get("tolerations"))
        and _all_in(made.get("schedulingGates"), was.get("schedulingGates"))
    )


def _fixed(spec: Doc, free: set[str]) -> Any:
    kept = {key: value for key, value in spec.items() if key not in free}
    for kind in ("containers", "initContainers"):
        kept[kind] = [{**each, "image": None} for each in spec.get(kind) or ()]
    return _bare(kept)


def _bare(value: Any) -> Any:
    """Without what is empty."""
    if isinstance(value, dict):
        return {key: bare for key, each in value.items() if (bare := _bare(each)) not in (None, "", {}, [])}
    if isinstance(value, list):
        return [_bare(each) for each in value]
    return value


def _all_in(some: list[Doc] | None, others: list[Doc] | None) -> bool:
    return all(each in (others or ()) for each in some or ())
