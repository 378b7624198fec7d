"""Admission policies: which requests they speak of, and what they say."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.serving import validation
from kubectl_eksdoc.embedded.serving.targets import target_of
from kubectl_eksdoc.embedded.serving.validation import BINDINGS, POLICIES, AdmissionRequest, Policies
from kubectl_eksdoc.kubernetes.api.statuses import ApiRefusal
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.store import Store

POD: Doc = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "priority": 3}}


def denied(path: str = "/api/v1/namespaces/shop/pods/p", operation: str = "CREATE", **policy: Any) -> str:
    """The message of the refusal, "" without one; if nothing else is said, the policy denies all new pods."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    bound = policy.pop("bound", ["Deny"])
    spec = {"matchConstraints": {"resourceRules": [{**rule, **policy.pop("rule", {})}]}, "failurePolicy": "Fail"}
    spec |= {"validations": [{"expression": policy.pop("expression", "false"), "message": "no"}], **policy}
    store = Store()
    store.add(POLICIES, ("", "freeze"), {"metadata": {"name": "freeze"}, "spec": spec})
    binding = {"policyName": "freeze", "validationActions": bound}
    store.add(BINDINGS, ("", "bound"), {"metadata": {"name": "bound"}, "spec": binding})
    target = target_of(path, Catalogue())
    assert target is not None
    try:
        Policies(store).check(AdmissionRequest(operation, target, "p", POD))
    except ApiRefusal as refusal:
        return refusal.status.message
    return ""


def test_a_bound_policy_denies() -> None:
    said = "ValidatingAdmissionPolicy 'freeze' with binding 'bound' denied request: no"
    assert denied() == f'pods "p" is forbidden: {said}'


@pytest.mark.parametrize("rule", [{"resources": ["*"]}, {"apiGroups": ["*"]}, {"operations": ["*"]}])
def test_stars_stand_for_everything(rule: Doc) -> None:
    assert denied(rule=rule)


@pytest.mark.parametrize(
    "rule",
    [{"resources": ["nodes"]}, {"resources": ["pods/eviction"]}, {"apiGroups": ["apps"]}, {"operations": ["UPDATE"]}],
)
def test_other_requests_are_not_spoken_of(rule: Doc) -> None:
    assert not denied(rule=rule)


@pytest.mark.parametrize("resources", [["pods/eviction"], ["pods/*"], ["*/eviction"], ["*/*"]])
def test_subresources_are_named_as_such(resources: list[str]) -> None:
    path = "/api/v1/namespaces/shop/pods/p/eviction"
    assert denied(path, rule={"resources": resources})
    assert not denied(path)


def test_what_only_warns_denies_nothing() -> None:
    assert not denied(bound=["Warn", "Audit"])


def test_failures_are_ignored_where_the_policy_says_so() -> None:
    assert denied(expression="object.spec.nope == 1").endswith("resulted in error: no such key: nope")
    assert not denied(expression="object.spec.nope == 1", failurePolicy="Ignore")


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("true", True),
        ("false", False),
        ("object.metadata.name == 'p'", True),
        ('object.metadata.name != "p"', False),
        ("object.spec.priority == 3", True),
        ("object.spec.priority != 4", True),
    ],
)
def test_expressions(expression: str, holds: bool) -> None:
    assert validation.holds(expression, {"object": POD}) is holds


def test_an_expression_that_is_not_understood_is_never_taken_for_true() -> None:
    with pytest.raises(validation.Fails, match="evaluates constants"):
        validation.holds("size(object.spec.containers) > 0", {"object": POD})
