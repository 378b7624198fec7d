"""What extends the API server: APIServices, webhooks and admission policies."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.embedded.api.tables.ages import age
from kubectl_eksdoc.embedded.api.tables.columns import AGE, NAME, Cells, Column, Printer, integer
from kubectl_eksdoc.embedded.api.tables.fields import condition, listed, name, text
from kubectl_eksdoc.embedded.api.tables.label_text import selector

_UNSET = "<unset>"


def _api_service(service: Doc, now: datetime) -> Cells:
    behind = at(service, "spec", "service")
    where = "Local" if behind is None else f"{text(behind, 'namespace')}/{text(behind, 'name')}"
    return [name(service), where, _available(service), age(service, now)]


def _available(service: Doc) -> str:
    found = condition(service, "Available")
    if found is None:
        return "Unknown"
    word, reason = text(found, "status"), text(found, "reason")
    return word if word == "True" or not reason else f"{word} ({reason})"


def _webhooks(configuration: Doc, now: datetime) -> Cells:
    return [name(configuration), len(listed(configuration, "webhooks")), age(configuration, now)]


def _parameter_kind(policy: Doc) -> str:
    found = at(policy, "spec", "paramKind")
    return _UNSET if found is None else f"{text(found, 'apiVersion')}/{text(found, 'kind')}"


def _validating_policy(policy: Doc, now: datetime) -> Cells:
    return [name(policy), len(listed(policy, "spec", "validations")), _parameter_kind(policy), age(policy, now)]


def _mutating_policy(policy: Doc, now: datetime) -> Cells:
    return [name(policy), len(listed(policy, "spec", "mutations")), _parameter_kind(policy), age(policy, now)]


def _policy_binding(binding: Doc, now: datetime) -> Cells:
    reference = at(binding, "spec", "paramRef") or {}
    shown = _UNSET
    if reference.get("name"):
        shown = f"{text(reference, 'namespace') or '*'}/{reference['name']}"
    elif reference.get("selector") is not None:
        shown = selector(reference["selector"])
    return [name(binding), text(binding, "spec", "policyName"), shown, age(binding, now)]


API_SERVICES = Printer(
    (
        NAME,
        Column("Service", "The service that answers for the group version"),
        Column("Available", "Whether it does"),
        AGE,
    ),
    _api_service,
)
WEBHOOKS = Printer((NAME, integer("Webhooks", "How many webhooks it registers"), AGE), _webhooks)
VALIDATING_POLICIES = Printer(
    (
        NAME,
        integer("Validations", "How many rules it has"),
        Column("ParamKind", "The kind of its parameters"),
        AGE,
    ),
    _validating_policy,
)
MUTATING_POLICIES = Printer(
    (
        NAME,
        integer("Mutations", "How many rules it has"),
        Column("ParamKind", "The kind of its parameters"),
        AGE,
    ),
    _mutating_policy,
)
POLICY_BINDINGS = Printer(
    (
        NAME,
        Column("PolicyName", "The policy that is bound"),
        Column("ParamRef", "The object with its parameters"),
        AGE,
    ),
    _policy_binding,
)
