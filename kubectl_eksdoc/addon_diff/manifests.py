"""Manifests that EKS applies for a version of an add-on, from public manifests (knowledge/addon_manifests.json).

They come from upstream or from clusters that EKS created. EKS uses its own labels and registry, so if the manifests of
both versions are equal, the fields that EKS owns now are decisive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import SchemaPlace, schema_of
from kubectl_eksdoc.kubernetes.document_diff import Path, fields_of, is_item_or_key
from kubectl_eksdoc.kubernetes.field_paths import keys_of, value_of
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, object_name
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records, sections

from .fields import value_at

Values = Mapping[Path, Any]
"""Leaves of an object; an item that has only its keys is a leaf, too."""


@frozen
class AddonManifest:
    """`changes`: by object (``DaemonSet aws-node``) and path, the differences to the previous version; null:
    removed."""

    addon: str
    version: str
    changes: Doc
    source: KnowledgeSource


@frozen
class NearestManifest:
    """The manifest of `version`. Not `is_exact`: it is the nearest known one; `is_distant`: more than one minor version
    away. `names`: its objects, if the user gave the manifest. `source_version`: the version whose manifest it is."""

    version: str
    objects: Mapping[str, Values]
    is_exact: bool = True
    is_distant: bool = False
    names: tuple[ObjectName, ...] = ()
    source_version: str = ""

    def fields_of(self, object_ref: ObjectName) -> Values:
        return self.objects.get(f"{object_ref.kind} {object_ref.name}", {})

    def without_agent(self) -> NearestManifest:
        """As the chart renders it if values disable that container."""
        step = 'k:{"name":"aws-eks-nodeagent"}'
        objects = {
            object_key: {path: values[path] for path in values if step not in path}
            for object_key, values in self.objects.items()
        }
        return replace(self, objects=objects)

    def with_any_values(self) -> NearestManifest:
        """The manifest of a version of which only the fields are known."""
        any_value = object()
        values = {object_key: dict.fromkeys(fields, any_value) for object_key, fields in self.objects.items()}
        return NearestManifest("", values, is_exact=False, is_distant=True)

    def with_version(self, version: str) -> NearestManifest:
        """The manifest with `version` in place of its own, as upstream writes it; images keep EKS's build."""
        old, new = upstream_version(self.version), upstream_version(version)
        objects = {
            object_key: {path: _with_version(value, path, old, new, version) for path, value in values.items()}
            for object_key, values in self.objects.items()
        }
        return NearestManifest(version, objects, self.is_exact)


@frozen
class AddonManifests:
    """Manifests of the current version and of the target."""

    current: NearestManifest
    target: NearestManifest

    @property
    def is_exact(self) -> bool:
        return self.current.is_exact and self.target.is_exact

    @property
    def is_distant(self) -> bool:
        """The manifests do not show which fields an object lacks."""
        return self.current.is_distant or self.target.is_distant


def addon_manifests(
    addon: str, current: str, target: str, has_agent: bool, user_manifest: NearestManifest | None = None
) -> AddonManifests | None:
    """None if no manifest of the add-on is known. `has_agent`: vpc-cni's network policy agent is enabled.
    `user_manifest`: that of the target, given by the user; without a known manifest of the current version, that
    version has the same fields with unknown values."""
    known_versions = known_manifests(addon)
    if not known_versions or not _version_numbers(current) or not _version_numbers(target):
        return None if user_manifest is None else AddonManifests(user_manifest.with_any_values(), user_manifest)
    if user_manifest is not None and not has_agent:
        user_manifest = user_manifest.without_agent()
    return AddonManifests(
        _nearest_manifest(addon, current, has_agent), user_manifest or _nearest_manifest(addon, target, has_agent)
    )


def manifest_from_documents(version: str, docs: Iterable[Doc]) -> NearestManifest:
    """Custom resource definitions are left out: users do not edit them."""
    objects: dict[str, Values] = {}
    names: list[ObjectName] = []
    for doc in docs:
        object_ref = object_name(doc)
        if object_ref.kind and object_ref.name:
            object_ref = (
                object_ref
                if object_ref.namespace or object_ref.kind in _CLUSTER_SCOPED
                else replace(object_ref, namespace="kube-system")
            )
            names.append(object_ref)
        if object_ref.kind and object_ref.name and object_ref.kind != "CustomResourceDefinition":
            objects[f"{object_ref.kind} {object_ref.name}"] = dict(_manifest_leaves(doc))
    return NearestManifest(version, objects, names=tuple(names))


def _manifest_leaves(doc: Doc) -> Iterator[tuple[Path, Any]]:
    """The leaves of a document. A fieldRef gets its default apiVersion, which the API server adds."""
    place = schema_of(doc["apiVersion"], doc["kind"]).root
    paths = tuple(fields_of(doc, place))
    for path in paths:
        is_bare_item = path[-1].startswith("k:") and not any(
            other[: len(path)] == path and not is_item_or_key(other) for other in paths
        )
        value = value_at(doc, path, place)
        if (is_bare_item or not is_item_or_key(path)) and value is not None and path[:2] not in _IDENTITY:
            is_field_ref = path[-1] == "f:fieldRef" and isinstance(value, Mapping)
            yield path, {"apiVersion": "v1", **value} if is_field_ref else value


_IDENTITY = (("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name"), ("f:metadata", "f:namespace"))
_CLUSTER_SCOPED = frozenset(resource.kind for resource in kinds.READ_BY_NAME if not resource.namespaced)


@lru_cache(maxsize=64)
def _nearest_manifest(addon: str, version: str, has_agent: bool) -> NearestManifest:
    """The manifest of the version, else the one before it. That is exact if the one after it differs only in images and
    the version's own name."""
    manifest = _select_nearest(known_manifests(addon), version)
    return manifest if has_agent else manifest.without_agent()


def _select_nearest(candidates: tuple[NearestManifest, ...], version: str) -> NearestManifest:
    exact = [each for each in candidates if _version_numbers(each.version) == _version_numbers(version)]
    same_release = [
        each
        for each in candidates
        if _version_numbers(each.version)[:3] == _version_numbers(version)[:3] and "eksbuild" not in each.version
    ]
    if exact or same_release:
        return (exact or same_release)[0].with_version(version)
    older = [each for each in candidates if _version_numbers(each.version) < _version_numbers(version)]
    newer = [each for each in candidates if _version_numbers(version) < _version_numbers(each.version)]
    nearest = older[-1] if older else newer[0]
    is_same = bool(older and newer) and _without_version(older[-1]) == _without_version(newer[0])
    (major, minor), (wanted_major, wanted_minor) = (
        (*_version_numbers(each), 0)[:2] for each in (nearest.version, version)
    )
    is_distant = major != wanted_major or abs(minor - wanted_minor) > 1
    return replace(
        nearest.with_version(version),
        is_exact=is_same,
        is_distant=is_distant and not is_same,
        source_version=nearest.version,
    )


def _without_version(manifest: NearestManifest) -> object:
    return {
        object_key: {path: value for path, value in values.items() if not _names_version(path)}
        for object_key, values in manifest.objects.items()
    }


def _names_version(path: Path) -> bool:
    return path[-1] in ("f:image", "f:app.kubernetes.io/version") or 'k:{"name":"VPC_CNI_VERSION"}' in path


@lru_cache(maxsize=1024)
def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


@cache
def known_manifests(addon: str) -> tuple[NearestManifest, ...]:
    """Oldest first."""
    known_versions: list[NearestManifest] = []
    objects: dict[str, dict[Path, Any]] = {}
    for manifest in (manifest for manifest in records(AddonManifest, "addon_manifests") if manifest.addon == addon):
        objects = {object_key: dict(values) for object_key, values in objects.items()}
        for object_key, changes in manifest.changes.items():
            values = objects.setdefault(object_key, {})
            for text, value in changes.items():
                path = tuple(text.split(" "))
                values[path] = value
                if value is None:
                    del values[path]
        known_versions.append(NearestManifest(manifest.version, objects))
    return tuple(sorted(known_versions, key=lambda manifest: _version_numbers(manifest.version)))


def build_document(values: Values) -> Doc:
    """The part of an object with these leaves."""
    root: Doc = {}
    for path, value in values.items():
        node: Any = root
        for step, next_step in zip(path, (*path[1:], ""), strict=True):
            is_last = next_step == ""
            if step.startswith("f:"):
                child: Any = value if is_last else [] if next_step[:2] in ("k:", "v:") else {}
                node = node.setdefault(step[2:], child)
            elif step.startswith("k:"):
                keys = keys_of(step)
                item = next((each for each in node if all(each.get(key) == keys[key] for key in keys)), None)
                if item is None:
                    node.append(item := dict(keys))
                node = item
            else:
                node.append(value_of(step))
    return root


def upstream_version(version: str) -> str:
    """``v1.20.4-eksbuild.2`` → ``v1.20.4``."""
    return version.partition(_BUILD)[0]


def _with_version(value: Any, path: Path, old: str, new: str, version: str) -> Any:
    if not _names_version(path) or not isinstance(value, str):
        return value
    if path[-1] != "f:image":
        return new if value == old else value
    repository, _, tag = value.rpartition(":")
    return f"{repository}:{version}" if upstream_version(tag) == old else value


def with_registry(image: Any, host: str) -> Any:
    """The image as EKS names it: in the registry of the cluster's region, with a build. The build number of an image
    other than the add-on's own (the network policy agent) is unknown."""
    if not isinstance(image, str):
        return image
    full_name = f"{host or _UNKNOWN_REGISTRY}/{image.partition('/')[2]}"
    return full_name if _BUILD in full_name or "@" in full_name else full_name + _UNKNOWN_BUILD


def is_possibly_same_image(live_image: object, image: object) -> bool:
    """The live image may be EKS's, whose registry or build is unknown."""
    if not isinstance(live_image, str) or not isinstance(image, str) or live_image == image:
        return False
    if image.endswith(_UNKNOWN_BUILD):
        live_image, image = upstream_version(live_image), upstream_version(image)
    if image.startswith(_UNKNOWN_REGISTRY):
        live_image, image = live_image.partition("/")[2], image.partition("/")[2]
    return live_image == image


def has_unknown_build(image: object) -> bool:
    """The build number or the registry of the image is unknown."""
    return isinstance(image, str) and (image.endswith(_UNKNOWN_BUILD) or image.startswith(_UNKNOWN_REGISTRY))


_BUILD = "-eksbuild"
_UNKNOWN_BUILD = f"{_BUILD}.N"
_UNKNOWN_REGISTRY = "ACCOUNT.dkr.ecr.REGION.amazonaws.com"


def registry_host(doc: Doc, eks_fields: object, values: Values, place: SchemaPlace) -> str:
    """The registry of an image that EKS owns in the object, "" if there is none."""
    for path in values:
        if path[-1] == "f:image" and path in eks_fields:  # type: ignore[operator]
            host, _, rest = str(value_at(doc, path, place)).partition("/")
            if rest:
                return host
    return ""


# Places where a chart renders its values: the parts of live objects that EKS applies for them. Values that
# knowledge/software.json does not list are not known to be rendered.


@frozen
class RenderedPart:
    """One value of the chart, and the part of an object that it renders. `placeholder_part` is the part with a
    placeholder as the value. `config` is () for the role, which no configuration value sets."""

    config: ConfigPath
    object_ref: ObjectName
    part: Doc
    placeholder_part: Doc


@frozen
class _Rule:
    """The `field` of the object `of` (``ConfigMap coredns``) that the chart renders from `value`; a `value` that ends
    with ``*`` stands for each key below it. In a field, ``containers[coredns]`` is the item with that name, and
    ``env[*]`` the item named by the key."""

    value: str
    of: str
    field: str

    @property
    def is_per_key(self) -> bool:
        return self.value.endswith(".*")

    @property
    def config_path(self) -> ConfigPath:
        return tuple(self.value.removesuffix(".*").split("."))

    def part(self, key: str, value: Any) -> Doc:
        """The part as the template renders it; variables and data are texts."""
        document: Any = _template_text(value) if self.is_per_key or self.field.startswith("data.") else value
        for step in reversed(self.field.split(".")):
            name, listed, item = step.partition("[")
            document = {name: [{"name": key if item == "*]" else item[:-1], **document}] if listed else document}
        return document  # type: ignore[no-any-return]


@frozen
class RenderedAddon:
    """Objects that EKS applies for the add-on `name`: all of them if `complete`. `role_account`: the service account
    whose pods use the add-on's role, "" for none."""

    name: str
    objects: tuple[ObjectName, ...]
    source: KnowledgeSource
    complete: bool = False
    role_account: str = ""
    values: tuple[_Rule, ...] = ()

    def object(self, kind: str, name: str) -> ObjectName:
        return next(each for each in self.objects if (each.kind, each.name) == (kind, name))


_APPLIED = sections(RenderedAddon, "software", "applied")


def _applied_addon(addon: str) -> RenderedAddon | None:
    return _APPLIED.by("name").get(addon)


def render_values(addon: str, values: Doc) -> tuple[RenderedPart, ...]:
    """The parts rendered from `values`, in the order of the rules; none for an add-on without rules."""
    addon_rules = _applied_addon(addon)
    return (
        ()
        if addon_rules is None
        else tuple(part for rule in addon_rules.values for part in _render_rule(addon_rules, rule, values))
    )


def render_role(addon: str, role: str) -> tuple[RenderedPart, ...]:
    """The annotation of the service account that EKS sets from the add-on's ``serviceAccountRoleArn``."""
    applied_addon = _applied_addon(addon)
    if applied_addon is None or not applied_addon.role_account or not role:
        return ()
    part, placeholder_part = (
        {"metadata": {"annotations": {_ROLE_ANNOTATION: value}}} for value in (role, _PLACEHOLDER)
    )
    return (
        RenderedPart((), applied_addon.object("ServiceAccount", applied_addon.role_account), part, placeholder_part),
    )


def value_stems(addon: str, object_ref: ObjectName) -> tuple[tuple[ConfigPath, Doc, bool], ...]:
    """For each value rendered into the object: its path, the part that a placeholder renders, and whether it is one of
    many whose names are data (environment variables)."""
    applied_addon = _applied_addon(addon)
    rules = applied_addon.values if applied_addon and object_ref in applied_addon.objects else ()
    object_key = f"{object_ref.kind} {object_ref.name}"
    return tuple(
        (rule.config_path, rule.part(_PLACEHOLDER, _PLACEHOLDER), rule.is_per_key)
        for rule in rules
        if rule.of == object_key
    )


def has_known_field(addon: str, config: ConfigPath) -> bool:
    """The field that this configuration value sets is known."""
    applied_addon = _applied_addon(addon)
    return applied_addon is not None and any(
        config[: len(rule.config_path)] == rule.config_path for rule in applied_addon.values
    )


def objects_of(addon: str) -> tuple[ObjectName, ...]:
    """The objects whose fields are checked."""
    applied_addon = _applied_addon(addon)
    return applied_addon.objects if applied_addon else ()


def addons_applying(kind: str, name: str) -> tuple[str, ...]:
    """The add-ons that apply an object of that kind (``DaemonSet``) and name."""
    return tuple(
        each.name
        for each in _APPLIED
        if (kind, name) in ((object_ref.kind, object_ref.name) for object_ref in each.objects)
    )


_PLACEHOLDER = "x"


def is_complete(addon: str) -> bool:
    """`objects_of` lists all objects that the add-on applies."""
    applied_addon = _applied_addon(addon)
    return applied_addon is not None and applied_addon.complete


def all_objects() -> tuple[ObjectName, ...]:
    """The known objects of all add-ons."""
    return tuple(object_ref for each in _APPLIED for object_ref in each.objects)


def _render_rule(applied: RenderedAddon, rule: _Rule, values: Doc) -> Iterator[RenderedPart]:
    value: Any = values
    for key in rule.config_path:
        value = value.get(key) if isinstance(value, dict) else None
    if value is None or value in ({}, []):
        return  # templates omit empty values
    object_ref = applied.object(*rule.of.split())
    if not rule.is_per_key:
        yield RenderedPart(rule.config_path, object_ref, rule.part("", value), rule.part("", _PLACEHOLDER))
    elif isinstance(value, dict):
        for key in sorted(value):
            if value[key] is not None:
                yield RenderedPart(
                    (*rule.config_path, key), object_ref, rule.part(key, value[key]), rule.part(key, _PLACEHOLDER)
                )


def _template_text(value: Any) -> str:
    """The value as a template prints it between quotes."""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


_ROLE_ANNOTATION = "eks.amazonaws.com/role-arn"
