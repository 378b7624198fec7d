"""What policy/v1 shows of a budget's selector, whichever version the budget was written in.

policy/v1beta1 (served before 1.25) took an empty selector for "no pods", policy/v1 takes it for "all pods". Budgets
written in those days are still stored, and policy/v1 shows theirs with a requirement that no pod meets.
Source: pkg/apis/policy/helper.go, pkg/apis/policy/{v1,v1beta1}/conversion.go, Kubernetes v1.36.
"""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.model.selectors import EVERYTHING, Requirement, Selector

MARKER = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
MATCHES_NONE = Selector((Requirement(MARKER, "Exists"),))
"""How policy/v1 shows the empty selector of policy/v1beta1."""

_ALL_IN_V1BETA1 = Selector((Requirement(MARKER, "DoesNotExist"),))


def as_v1(api_version: str, selector: Selector) -> Selector:
    """The selector as policy/v1 shows it of a budget that was written as `api_version` with `selector`.

    A selector that was not given at all matches nothing in both (`selectors.NOTHING`) and stays as it is.
    """
    if api_version == "policy/v1beta1":
        if selector == EVERYTHING:
            return MATCHES_NONE
        if selector == _ALL_IN_V1BETA1:
            return EVERYTHING
    elif selector == MATCHES_NONE:
        return selector
    # The marker never combines with what a user wrote.
    return replace(selector, requirements=tuple(r for r in selector.requirements if r.key != MARKER))
