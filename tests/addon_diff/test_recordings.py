"""Both whole recordings: what the API server answers to EKS's apply is what is predicted from the manifests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import Mode, _invalid
from kubectl_eksdoc.kubernetes.api.defaults import with_defaults
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.ownership.applying import AppliedDocument, ApplyRefused, apply
from kubectl_eksdoc.kubernetes.ownership.entries import without_entries
from kubectl_eksdoc.model.api_objects import Doc, named
from tests.addon_diff.incident import NOW
from tests.addon_diff.test_manifests import Agreeing
from tests.addon_diff.test_passing_wrongly import check_histories, plain, planned_histories, recorded


def predicted(case: Doc, force: bool) -> tuple[int, object]:
    """The status, and with it the conflicting fields, the message or the object."""
    live, after = case["live"], case["next"]
    answer = apply(live, after, "eks", force, NOW, schema_of(after["apiVersion"], after["kind"]))
    if isinstance(answer, ApplyRefused):
        return answer.code, answer.message
    if not isinstance(answer, AppliedDocument):
        return 409, answer.message
    before, doc = (with_defaults(without_entries(each)) for each in (live, answer.doc))
    invalid = _invalid(named(live), before, doc)
    return (422, invalid) if invalid else (200, plain(doc))


_DEFAULTS = {"type": "", "apiVersion": "v1", "failureThreshold": 3, "successThreshold": 1, "periodSeconds": 10}
"""Values that the server gives to what a manifest does not say, and that are not written here."""
_ALWAYS = frozenset(("annotations", "serviceAccount"))
"""Empty, and an alias that the server keeps like serviceAccountName."""


def alike(told: object, ours: object) -> bool:
    """Defaults aside."""
    if isinstance(told, dict) and isinstance(ours, dict):
        lacks = {key: value for key, value in told.items() if key not in ours and key not in _ALWAYS}
        both = told.keys() & ours.keys() - {"serviceAccount"}
        same = all(alike(told[key], ours[key]) for key in both)
        return same and lacks.items() <= _DEFAULTS.items() and ours.keys() - told.keys() <= _ALWAYS
    if isinstance(told, list) and isinstance(ours, list):
        return len(told) == len(ours) and all(map(alike, told, ours))
    return told == ours


def answered(answer: Doc) -> tuple[int, object]:
    said = answer["message"] if answer["status"] != 200 else plain(answer["result"])
    return answer["status"], said


@pytest.mark.long
@pytest.mark.parametrize("addon", ["vpc-cni", "coredns"])
def test_every_answer_is_predicted(addon: str) -> None:
    wrong, right = [], 0
    for name, _, case in recorded(addon, 1):
        for mode in ("NONE", "OVERWRITE") if case["next"] else ():
            told, ours = answered(case["answers"][mode]), predicted(case, mode == "OVERWRITE")
            same = told[0] == ours[0] and alike(told[1], ours[1])
            right += same
            wrong += [] if same else [(name, mode, told, ours)]
    assert wrong == [] and right > 500


@pytest.mark.long
@pytest.mark.parametrize(("addon", "right"), [("vpc-cni", 1082), ("coredns", 600)])
def test_nothing_that_the_server_took_passes_and_all_of_its_answers_are_foretold(addon: str, right: int) -> None:
    """Of all histories, each planned once for both."""
    found = Agreeing()

    def seen() -> Iterator[tuple[str, Doc, dict[Mode, AddonPlan]]]:
        for name, case, plans in planned_histories(addon, 1):
            found.add(name, case, plans[Mode.NONE])
            yield name, case, plans

    check_histories(seen())
    assert (found.wrong, found.right, found.of) == ([], right, right)
