"""APIServices and definitions become the facts they should; webhooks tell what narrows them."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ApiService, Callee, DefinedVersion, Definition
from kubectl_eksdoc.model.network import WebhookRule
from tests.objects.observing import observed


def test_an_api_service() -> None:
    conditions = [
        {"type": "Other", "status": "True"},
        {"type": "Available", "status": "False", "reason": "MissingEndpoints", "message": "no addresses"},
    ]
    spec = {"group": "metrics.k8s.io", "version": "v1beta1", "service": {"namespace": "kube-system", "name": "ms"}}
    assert observed(kinds.API_SERVICES, spec=spec, status={"conditions": conditions}).api_services == (
        ApiService(
            "x",
            "metrics.k8s.io",
            "v1beta1",
            Callee("kube-system", "ms"),
            "False",
            "MissingEndpoints",
            "no addresses",
        ),
    )


def test_an_api_service_that_says_nothing() -> None:
    assert observed(kinds.API_SERVICES, spec={"version": "v1", "service": None}).api_services == (
        ApiService("x", "", "v1"),
    )


def test_a_definition() -> None:
    client = {"service": {"namespace": "ops", "name": "hook", "path": "/convert"}, "caBundle": "LS0="}
    spec = {
        "names": {"kind": "Backup", "plural": "backups"},
        "versions": [{"name": "v1alpha1", "served": True, "deprecated": True}, {"name": "v1", "served": True}, {}],
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client}},
    }
    assert observed(kinds.DEFINITIONS, spec=spec, status={"storedVersions": ["v1"]}).definitions == (
        Definition(
            "x",
            "Backup",
            (DefinedVersion("v1alpha1", True, True), DefinedVersion("v1", True), DefinedVersion("")),
            ("v1",),
            Callee("ops", "hook"),
        ),
    )


@pytest.mark.parametrize(
    ("conversion", "converter"),
    [
        (None, None),
        ({"strategy": "None"}, None),
        ({"strategy": "Webhook"}, Callee()),
        ({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x"}}}, Callee(url="https://x")),
    ],
)
def test_who_converts(conversion: object, converter: Callee | None) -> None:
    (found,) = observed(kinds.DEFINITIONS, spec={"conversion": conversion}).definitions
    assert found.converter == converter


def test_what_narrows_a_webhook() -> None:
    hook = {"name": "a", "rules": [{"resources": ["nodes"], "scope": "Cluster"}], "matchConditions": [{"name": "x"}]}
    (found,) = observed(kinds.VALIDATING_WEBHOOKS, webhooks=[hook]).webhooks
    assert (found.rules, found.conditional) == ((WebhookRule((), (), ("nodes",), "Cluster"),), True)
