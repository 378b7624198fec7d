"""Terraform plans: reads the changes of EKS add-ons from the output of ``terraform show -json PLAN``.

Source: developer.hashicorp.com/terraform/internals/json-format: format_version 0.1, 0.2 and 1.x; later minor versions
only add fields. OpenTofu prints the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.errors import TerraformError
from kubectl_eksdoc.model.addons import (
    AddonResource,
    AddonSettings,
    ClusterUpgrade,
    ModuleCall,
    ProviderConstraint,
    TerraformPlan,
)
from kubectl_eksdoc.model.kinds import Unknown

from .documents import InvalidDocument, JsonFile, shorten

# The configuration in a Terraform plan: provider versions and module calls.
#
# No verdict depends on it alone, so values in an unexpected format are skipped.


def provider_constraints(configuration: Any) -> tuple[ProviderConstraint, ...]:
    """Version constraints of hashicorp/aws by module; the root module is "". Keys are ``aws`` and
    ``module.eks:aws``."""
    provider_versions = []
    for key, provider in _as_mapping(_as_mapping(configuration).get("provider_config")).items():
        if _as_mapping(provider).get("name") == "aws":
            source, version = _as_text(provider.get("full_name")), _as_text(provider.get("version_constraint"))
            module = _as_text(provider.get("module_address")) or key.rpartition(":")[0]
            path = ".".join(module.removeprefix("module.").split(".module."))
            provider_versions.append(ProviderConstraint(path, source, version))
    return tuple(sorted(provider_versions, key=lambda each: (each.module, each.source, each.version)))


def module_calls(configuration: Any) -> tuple[ModuleCall, ...]:
    """All module calls, by path."""
    return tuple(
        sorted(_walk_module_calls(_as_mapping(configuration).get("root_module"), ""), key=lambda each: each.path)
    )


def _walk_module_calls(module: Any, parent_path: str) -> Iterator[ModuleCall]:
    pending = [(module, parent_path)]
    while pending:
        current_module, path = pending.pop()
        for name, call in _as_mapping(_as_mapping(current_module).get("module_calls")).items():
            call_path = f"{path}.{name}" if path else name
            source, version = (_as_text(_as_mapping(call).get(key)) for key in ("source", "version_constraint"))
            argument_names = tuple(sorted(_as_mapping(_as_mapping(call).get("expressions"))))
            yield ModuleCall(call_path, source, version, argument_names)
            pending.append((_as_mapping(call).get("module"), call_path))


def _as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_ADDON_TYPE = "aws_eks_addon"
_CLOUD_CONTROL_TYPE = "AWS::EKS::Addon"
_AWSCC_ADDON_TYPE = "awscc_eks_addon"
"""The arguments of this resource are the properties of that type. `resolve_conflicts` is write-only in Cloud Control
(writeOnlyProperties): it is unknown whether the provider sends it again if it has not changed."""
_ACTIONS = frozenset(("no-op", "read", "create", "update", "delete", "forget"))
_NO_CHANGE = frozenset(("no-op", "read"))
_CREATE_HINT = "A plan is made by: terraform plan -out=plan.bin && terraform show -json plan.bin > FILE"
_PLAN_FILE = JsonFile(
    "the Terraform plan",
    "no plan",
    TerraformError,
    _CREATE_HINT,
    foreign_formats=((b"PK\x03\x04", "the plan as Terraform keeps it, which only Terraform reads"),),
)
_KNOWN_AFTER_APPLY = Unknown("it is known after apply only")
_CONFIGURATION = "configuration_values"
_MAY_NOT_BE_SENT = Unknown("it has not changed, and whether Cloud Control sends it again is not known")
_MAY_BE_CLEARED = Unknown("it is taken away, and whether Cloud Control clears it is not known")
_SENSITIVE = Unknown("it is sensitive in the plan, or the plan does not say that it is not: it is not read")

Json = dict[str, Any]


def read_terraform_plan(path: str) -> TerraformPlan:
    """
    Raises:
        TerraformError: the file cannot be opened, is no plan in JSON, or has an unknown format version.
    """
    document = _check_plan(path, _PLAN_FILE.read(path))
    configuration = document.get("configuration")
    try:
        return TerraformPlan(
            file=path,
            terraform=_required_text(document.get("terraform_version", "")),
            addons=tuple(sorted(map(_addon_resource, _addon_changes(document)), key=lambda each: each.address)),
            constraints=provider_constraints(configuration),
            failed=document.get("errored") is True,
            deferred=tuple(
                sorted(
                    _address_of(each)
                    for later in _list(document.get("deferred_changes"), "deferred_changes")
                    if isinstance(each := later.get("resource_change"), dict) and each.get("type") == _ADDON_TYPE
                )
            ),
            modules=module_calls(configuration),
            not_read=_unread_addresses(document),
            upgrades=tuple(_cluster_upgrades(document)),
        )
    except InvalidDocument as error:
        raise TerraformError(
            f"the Terraform plan {path} is not as Terraform writes it: {error}", _CREATE_HINT
        ) from error


def _check_plan(path: str, document: object) -> Json:
    version = document.get("format_version") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(version, str):
        raise TerraformError(f"{path} is JSON, but no Terraform plan", _CREATE_HINT)
    if version.partition(".")[0] != "1" and version not in _OLD_FORMATS:
        hint = "Terraform 0.12 and later, and OpenTofu, write 0.1, 0.2 and 1.x."
        raise TerraformError(f"the Terraform plan {path} is of format {version[:20]}: it is not known here", hint)
    if not {"resource_changes", "planned_values", "configuration"} & document.keys():
        description = "a Terraform state, not a plan" if "values" in document else "JSON of Terraform, but no plan"
        raise TerraformError(f"{path} is {description}", _CREATE_HINT)
    if version in _OLD_FORMATS:
        for change in (each.get("change") for each in _addon_changes(document)):
            if isinstance(change, dict):
                change.setdefault("before_sensitive", _ASSUMED_SENSITIVE)
                change.setdefault("after_sensitive", _ASSUMED_SENSITIVE)
    return document


_ASSUMED_SENSITIVE = {_CONFIGURATION: True}
_OLD_FORMATS = ("0.1", "0.2")
"""Versions of Terraform 0.12 to 1.0: the same resource_changes; before 0.15, a change does not mark sensitive
values."""


def _addon_changes(document: Json) -> list[Json]:
    return [each for each in _managed_changes(document) if _is_evaluated(each)]


def _managed_changes(document: Json) -> list[Json]:
    """Resource changes without data sources."""
    changes = _list(document.get("resource_changes"), "resource_changes")
    return [each for each in changes if each.get("mode", "managed") == "managed"]


def _is_evaluated(resource_change: Json) -> bool:
    """Whether this tool evaluates the change. Of Cloud Control resources only creations and updates: the effect of
    their deletion on the cluster is unknown."""
    if resource_change.get("type") != _AWSCC_ADDON_TYPE:
        return resource_change.get("type") == _ADDON_TYPE
    return set(_actions_of(resource_change, _change_of(resource_change))) in ({"create"}, {"update"})


def _unread_addresses(document: Json) -> tuple[str, ...]:
    """Addresses of changes by AWS Cloud Control that are not evaluated: by its own provider, or by the resource of the
    AWS provider for it."""

    def is_unread(resource_change: Json) -> bool:
        if resource_change.get("type") != "aws_cloudcontrolapi_resource":
            return resource_change.get("type") == _AWSCC_ADDON_TYPE and not _is_evaluated(resource_change)
        sides = map(_change_of(resource_change).get, ("before", "after"))
        return any(isinstance(each, dict) and each.get("type_name") == _CLOUD_CONTROL_TYPE for each in sides)

    unread_changes = filter(is_unread, _managed_changes(document))
    return tuple(
        sorted(
            _address_of(each)
            for each in unread_changes
            if not _NO_CHANGE.issuperset(_actions_of(each, _change_of(each)))
        )
    )


def _cluster_upgrades(document: Json) -> Iterator[ClusterUpgrade]:
    for resource_change in _managed_changes(document):
        if resource_change.get("type") != "aws_eks_cluster":
            continue
        change = _change_of(resource_change)
        before, after = (change.get(side) or {} for side in ("before", "after"))
        if (
            "update" not in _actions_of(resource_change, change)
            or not isinstance(before, dict)
            or not isinstance(after, dict)
        ):
            continue
        old_version, new_version = (side.get("version") for side in (before, after))
        if old_version != new_version:
            name, arn = (_required_text(before.get(key) or "") for key in ("name", "arn"))
            yield ClusterUpgrade(
                name,
                arn,
                _required_text(old_version or ""),
                None if new_version is None else _required_text(new_version),
            )


def _change_of(resource_change: Json) -> Json:
    change = resource_change.get("change")
    if not isinstance(change, dict) or not isinstance(change.get("actions"), list):
        raise InvalidDocument(f"{_address_of(resource_change)} has no change")
    return change


def _actions_of(resource_change: Json, change: Json) -> tuple[str, ...]:
    """The actions of a change. An unknown action is refused, because it may change the cluster."""
    actions = tuple(_required_text(each) for each in change["actions"])
    if not actions:
        raise InvalidDocument(f"{_address_of(resource_change)} has no action")
    for each in actions:
        if each not in _ACTIONS:
            raise InvalidDocument(
                f"{_address_of(resource_change)} has the action {shorten(each)}, which is not known here"
            )
    return actions


def _addon_resource(resource_change: Json) -> AddonResource:
    change = _change_of(resource_change)
    actions = _actions_of(resource_change, change)
    before, after, after_unknown = (change.get(key) for key in ("before", "after", "after_unknown"))
    for side, required_for in (("after", {"update", "create"}), ("before", {"update", "delete", "forget"})):
        if required_for & set(actions) and change.get(side) is None:
            raise InvalidDocument(f"{_address_of(resource_change)} has nothing {side} its change")
    if after_unknown is True:
        raise InvalidDocument(f"after_unknown of {_address_of(resource_change)} is no object")
    unknown_values = after_unknown if isinstance(after_unknown, dict) else {}
    settings_before = _addon_settings(before, {}, change.get("before_sensitive"))
    settings_after = _addon_settings(after, unknown_values, change.get("after_sensitive"))
    values_before, values_after = before or {}, after or {}
    differs = tuple(
        sorted(
            name
            for name in values_before.keys() | values_after.keys() | unknown_values.keys()
            if _has_unknown(unknown_values.get(name))
            or (values_before.get(name) or None) != (values_after.get(name) or None)
        )
    )
    if resource_change.get("type") == _AWSCC_ADDON_TYPE and settings_after is not None:
        settings_after = _cloud_control_settings(settings_after, before or {}, differs)
    return AddonResource(
        address=_address_of(resource_change),
        module=_required_text(resource_change.get("module_address", "")),
        actions=actions,
        before=settings_before,
        after=settings_after,
        differs=differs,
        arguments=tuple(sorted({*(after or before or {}), *unknown_values})),
        cloud_control=resource_change.get("type") == _AWSCC_ADDON_TYPE,
    )


def _cloud_control_settings(after: AddonSettings, before: Json, differs: Sequence[str]) -> AddonSettings:
    if before and after.resolve_conflicts not in (None, "NONE") and "resolve_conflicts" not in differs:
        after = replace(after, resolve_conflicts=_MAY_NOT_BE_SENT)
    return (
        replace(after, configuration=_MAY_BE_CLEARED)
        if before.get(_CONFIGURATION) and after.configuration is None
        else after
    )


def _has_unknown(after_unknown: Any) -> bool:
    """Whether any part of the value is known only after apply: ``after_unknown`` has the structure of the value, with
    true for unknown parts."""
    if isinstance(after_unknown, (dict, list)):
        return any(map(_has_unknown, after_unknown.values() if isinstance(after_unknown, dict) else after_unknown))
    return after_unknown not in (None, False)


def _address_of(resource_change: Json) -> str:
    address = resource_change.get("address")
    if not isinstance(address, str) or not address:
        raise InvalidDocument("a resource has no address")
    return address


def _addon_settings(values: Any, unknown_values: Json, sensitive: Any) -> AddonSettings | None:
    """The settings of an add-on, without sensitive values, so that they are never printed: ``*_sensitive`` has the
    structure of the values."""
    if values is None:
        return None
    if not isinstance(values, dict):
        raise InvalidDocument("the values of a resource are no object")

    def text(name: str) -> str | Unknown | None:
        value = values.get(name)
        if _has_unknown(unknown_values.get(name)):
            return _KNOWN_AFTER_APPLY
        if value is not None and _has_unknown(sensitive.get(name) if isinstance(sensitive, dict) else sensitive):
            return _SENSITIVE
        return None if value is None else _required_text(value)

    preserve = values.get("preserve")
    if preserve is not None and not isinstance(preserve, bool):
        raise InvalidDocument("preserve is neither true nor false")
    return AddonSettings(
        cluster=text("cluster_name"),
        addon=text("addon_name"),
        version=text("addon_version"),
        configuration=text(_CONFIGURATION),
        resolve_conflicts=text("resolve_conflicts"),
        on_create=text("resolve_conflicts_on_create"),
        on_update=text("resolve_conflicts_on_update"),
        role=text("service_account_role_arn"),
        arn=text("arn"),
        region=text("region"),
        preserve=_KNOWN_AFTER_APPLY if _has_unknown(unknown_values.get("preserve")) else preserve,
    )


def _list(value: Any, name: str) -> list[Json]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise InvalidDocument(f"{name} is no list of objects")
    return value


def _required_text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidDocument(f"a {type(value).__name__} stands where a text should")
    return value
