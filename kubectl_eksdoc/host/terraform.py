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

from .documents import JsonFile, Unfit, short

# The configuration in a Terraform plan: provider versions and module calls.
#
# No verdict depends on it alone, so values in an unexpected format are skipped.


def constraints(configuration: Any) -> tuple[ProviderConstraint, ...]:
    """Version constraints of hashicorp/aws by module; the root module is "". Keys are ``aws`` and
    ``module.eks:aws``."""
    found = []
    for key, said in _object(_object(configuration).get("provider_config")).items():
        if _object(said).get("name") == "aws":
            source, version = _text(said.get("full_name")), _text(said.get("version_constraint"))
            module = _text(said.get("module_address")) or key.rpartition(":")[0]
            path = ".".join(module.removeprefix("module.").split(".module."))
            found.append(ProviderConstraint(path, source, version))
    return tuple(sorted(found, key=lambda each: (each.module, each.source, each.version)))


def modules(configuration: Any) -> tuple[ModuleCall, ...]:
    """All module calls, by path."""
    return tuple(sorted(_calls(_object(configuration).get("root_module"), ""), key=lambda each: each.path))


def _calls(module: Any, below: str) -> Iterator[ModuleCall]:
    waiting = [(module, below)]
    while waiting:
        said, path = waiting.pop()
        for name, call in _object(_object(said).get("module_calls")).items():
            inner = f"{path}.{name}" if path else name
            source, version = (_text(_object(call).get(key)) for key in ("source", "version_constraint"))
            given = tuple(sorted(_object(_object(call).get("expressions"))))
            yield ModuleCall(inner, source, version, given)
            waiting.append((_object(call).get("module"), inner))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_TYPE = "aws_eks_addon"
_CLOUD_CONTROL = "AWS::EKS::Addon"
_AWSCC = "awscc_eks_addon"
"""The arguments of this resource are the properties of that type. `resolve_conflicts` is write-only in Cloud Control
(writeOnlyProperties): it is unknown whether the provider sends it again if it has not changed."""
_ACTIONS = frozenset(("no-op", "read", "create", "update", "delete", "forget"))
_IDLE = frozenset(("no-op", "read"))
_MAKE = "A plan is made by: terraform plan -out=plan.bin && terraform show -json plan.bin > FILE"
_FILE = JsonFile(
    "the Terraform plan",
    "no plan",
    TerraformError,
    _MAKE,
    foreign=((b"PK\x03\x04", "the plan as Terraform keeps it, which only Terraform reads"),),
)
_LATER = Unknown("it is known after apply only")
_VALUES = "configuration_values"
_NOT_SENT = Unknown("it has not changed, and whether Cloud Control sends it again is not known")
_CLEARED = Unknown("it is taken away, and whether Cloud Control clears it is not known")
_SENSITIVE = Unknown("it is sensitive in the plan, or the plan does not say that it is not: it is not read")

Json = dict[str, Any]


def read_terraform_plan(path: str) -> TerraformPlan:
    """
    Raises:
        TerraformError: the file cannot be opened, is no plan in JSON, or has an unknown format version.
    """
    document = _plan(path, _FILE.read(path))
    configuration = document.get("configuration")
    try:
        return TerraformPlan(
            file=path,
            terraform=_plan_text(document.get("terraform_version", "")),
            addons=tuple(sorted(map(_resource, _addons(document)), key=lambda each: each.address)),
            constraints=constraints(configuration),
            failed=document.get("errored") is True,
            deferred=tuple(
                sorted(
                    _address(each)
                    for later in _list(document.get("deferred_changes"), "deferred_changes")
                    if isinstance(each := later.get("resource_change"), dict) and each.get("type") == _TYPE
                )
            ),
            modules=modules(configuration),
            unread=_unread(document),
            upgrades=tuple(_upgrades(document)),
        )
    except Unfit as error:
        raise TerraformError(f"the Terraform plan {path} is not as Terraform writes it: {error}", _MAKE) from error


def _plan(path: str, document: object) -> Json:
    version = document.get("format_version") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(version, str):
        raise TerraformError(f"{path} is JSON, but no Terraform plan", _MAKE)
    if version.partition(".")[0] != "1" and version not in _OLD:
        hint = "Terraform 0.12 and later, and OpenTofu, write 0.1, 0.2 and 1.x."
        raise TerraformError(f"the Terraform plan {path} is of format {version[:20]}: it is not known here", hint)
    if not {"resource_changes", "planned_values", "configuration"} & document.keys():
        what = "a Terraform state, not a plan" if "values" in document else "JSON of Terraform, but no plan"
        raise TerraformError(f"{path} is {what}", _MAKE)
    if version in _OLD:
        for change in (each.get("change") for each in _addons(document)):
            if isinstance(change, dict):
                change.setdefault("before_sensitive", _MAY_BE)
                change.setdefault("after_sensitive", _MAY_BE)
    return document


_MAY_BE = {_VALUES: True}
_OLD = ("0.1", "0.2")
"""Versions of Terraform 0.12 to 1.0: the same resource_changes; before 0.15, a change does not mark sensitive
values."""


def _addons(document: Json) -> list[Json]:
    return [each for each in _managed(document) if _is_read(each)]


def _managed(document: Json) -> list[Json]:
    """Resource changes without data sources."""
    changes = _list(document.get("resource_changes"), "resource_changes")
    return [each for each in changes if each.get("mode", "managed") == "managed"]


def _is_read(said: Json) -> bool:
    """Whether this tool evaluates the change. Of Cloud Control resources only creations and updates: the effect of
    their deletion on the cluster is unknown."""
    if said.get("type") != _AWSCC:
        return said.get("type") == _TYPE
    return set(_actions(said, _change(said))) in ({"create"}, {"update"})


def _unread(document: Json) -> tuple[str, ...]:
    """Addresses of changes by AWS Cloud Control that are not evaluated: by its own provider, or by the resource of the
    AWS provider for it."""

    def is_unread(said: Json) -> bool:
        if said.get("type") != "aws_cloudcontrolapi_resource":
            return said.get("type") == _AWSCC and not _is_read(said)
        sides = map(_change(said).get, ("before", "after"))
        return any(isinstance(each, dict) and each.get("type_name") == _CLOUD_CONTROL for each in sides)

    found = filter(is_unread, _managed(document))
    return tuple(sorted(_address(each) for each in found if not _IDLE.issuperset(_actions(each, _change(each)))))


def _upgrades(document: Json) -> Iterator[ClusterUpgrade]:
    for each in _managed(document):
        if each.get("type") != "aws_eks_cluster":
            continue
        change = _change(each)
        before, after = (change.get(side) or {} for side in ("before", "after"))
        if "update" not in _actions(each, change) or not isinstance(before, dict) or not isinstance(after, dict):
            continue
        now, then = (side.get("version") for side in (before, after))
        if now != then:
            name, arn = (_plan_text(before.get(key) or "") for key in ("name", "arn"))
            yield ClusterUpgrade(name, arn, _plan_text(now or ""), None if then is None else _plan_text(then))


def _change(said: Json) -> Json:
    change = said.get("change")
    if not isinstance(change, dict) or not isinstance(change.get("actions"), list):
        raise Unfit(f"{_address(said)} has no change")
    return change


def _actions(said: Json, change: Json) -> tuple[str, ...]:
    """The actions of a change. An unknown action is refused, because it may change the cluster."""
    actions = tuple(_plan_text(each) for each in change["actions"])
    if not actions:
        raise Unfit(f"{_address(said)} has no action")
    for each in actions:
        if each not in _ACTIONS:
            raise Unfit(f"{_address(said)} has the action {short(each)}, which is not known here")
    return actions


def _resource(said: Json) -> AddonResource:
    change = _change(said)
    actions = _actions(said, change)
    before, after, said_later = (change.get(key) for key in ("before", "after", "after_unknown"))
    for side, needing in (("after", {"update", "create"}), ("before", {"update", "delete", "forget"})):
        if needing & set(actions) and change.get(side) is None:
            raise Unfit(f"{_address(said)} has nothing {side} its change")
    if said_later is True:
        raise Unfit(f"after_unknown of {_address(said)} is no object")
    later = said_later if isinstance(said_later, dict) else {}
    was = _settings(before, {}, change.get("before_sensitive"))
    settings = _settings(after, later, change.get("after_sensitive"))
    old, new = before or {}, after or {}
    differs = tuple(
        sorted(
            name
            for name in old.keys() | new.keys() | later.keys()
            if _unknown(later.get(name)) or (old.get(name) or None) != (new.get(name) or None)
        )
    )
    if said.get("type") == _AWSCC and settings is not None:
        settings = _of_cloud_control(settings, before or {}, differs)
    return AddonResource(
        address=_address(said),
        module=_plan_text(said.get("module_address", "")),
        actions=actions,
        before=was,
        after=settings,
        differs=differs,
        arguments=tuple(sorted({*(after or before or {}), *later})),
        cloud_control=said.get("type") == _AWSCC,
    )


def _of_cloud_control(after: AddonSettings, before: Json, differs: Sequence[str]) -> AddonSettings:
    if before and after.resolve_conflicts not in (None, "NONE") and "resolve_conflicts" not in differs:
        after = replace(after, resolve_conflicts=_NOT_SENT)
    return replace(after, configuration=_CLEARED) if before.get(_VALUES) and after.configuration is None else after


def _unknown(later: Any) -> bool:
    """Whether any part of the value is known only after apply: ``after_unknown`` has the structure of the value, with
    true for unknown parts."""
    if isinstance(later, (dict, list)):
        return any(map(_unknown, later.values() if isinstance(later, dict) else later))
    return later not in (None, False)


def _address(said: Json) -> str:
    address = said.get("address")
    if not isinstance(address, str) or not address:
        raise Unfit("a resource has no address")
    return address


def _settings(values: Any, later: Json, sensitive: Any) -> AddonSettings | None:
    """The settings of an add-on, without sensitive values, so that they are never printed: ``*_sensitive`` has the
    structure of the values."""
    if values is None:
        return None
    if not isinstance(values, dict):
        raise Unfit("the values of a resource are no object")

    def text(name: str) -> str | Unknown | None:
        value = values.get(name)
        if _unknown(later.get(name)):
            return _LATER
        if value is not None and _unknown(sensitive.get(name) if isinstance(sensitive, dict) else sensitive):
            return _SENSITIVE
        return None if value is None else _plan_text(value)

    preserve = values.get("preserve")
    if preserve is not None and not isinstance(preserve, bool):
        raise Unfit("preserve is neither true nor false")
    return AddonSettings(
        cluster=text("cluster_name"),
        addon=text("addon_name"),
        version=text("addon_version"),
        configuration=text(_VALUES),
        resolve_conflicts=text("resolve_conflicts"),
        on_create=text("resolve_conflicts_on_create"),
        on_update=text("resolve_conflicts_on_update"),
        role=text("service_account_role_arn"),
        arn=text("arn"),
        region=text("region"),
        preserve=_LATER if _unknown(later.get("preserve")) else preserve,
    )


def _list(value: Any, name: str) -> list[Json]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise Unfit(f"{name} is no list of objects")
    return value


def _plan_text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unfit(f"a {type(value).__name__} stands where a text should")
    return value
