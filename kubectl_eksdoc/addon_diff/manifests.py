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
from kubectl_eksdoc.kubernetes.document_diff import Path, fields_of, names_item
from kubectl_eksdoc.kubernetes.field_paths import keys_of, value_of
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, named
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
    exact: bool = True
    far: bool = False
    names: tuple[ObjectName, ...] = ()
    known: str = ""

    def of(self, named: ObjectName) -> Values:
        return self.objects.get(f"{named.kind} {named.name}", {})

    def without_agent(self) -> NearestManifest:
        """As the chart renders it if values disable that container."""
        step = 'k:{"name":"aws-eks-nodeagent"}'
        kept = {of: {path: each[path] for path in each if step not in path} for of, each in self.objects.items()}
        return replace(self, objects=kept)

    def any_values(self) -> NearestManifest:
        """The manifest of a version of which only the fields are known."""
        any_value = object()
        values = {of: dict.fromkeys(each, any_value) for of, each in self.objects.items()}
        return NearestManifest("", values, exact=False, far=True)

    def named(self, version: str) -> NearestManifest:
        """The manifest with `version` in place of its own, as upstream writes it; images keep EKS's build."""
        old, new = upstream(self.version), upstream(version)
        named = {
            of: {path: _named(value, path, old, new, version) for path, value in values.items()}
            for of, values in self.objects.items()
        }
        return NearestManifest(version, named, self.exact)


@frozen
class AddonManifests:
    """Manifests of the current version and of the target."""

    now: NearestManifest
    target: NearestManifest

    @property
    def exact(self) -> bool:
        return self.now.exact and self.target.exact

    @property
    def far(self) -> bool:
        """The manifests do not show which fields an object lacks."""
        return self.now.far or self.target.far


def manifests(
    addon: str, now: str, target: str, agent: bool, given: NearestManifest | None = None
) -> AddonManifests | None:
    """None if no manifest of the add-on is known. `has_agent`: vpc-cni's network policy agent is enabled.
    `user_manifest`: that of the target, given by the user; without a known manifest of the current version, that
    version has the same fields with unknown values."""
    known = all_known(addon)
    if not known or not _order(now) or not _order(target):
        return None if given is None else AddonManifests(given.any_values(), given)
    if given is not None and not agent:
        given = given.without_agent()
    return AddonManifests(_nearest(addon, now, agent), given or _nearest(addon, target, agent))


def known_of(version: str, docs: Iterable[Doc]) -> NearestManifest:
    """Custom resource definitions are left out: users do not edit them."""
    objects: dict[str, Values] = {}
    names: list[ObjectName] = []
    for doc in docs:
        of = named(doc)
        if of.kind and of.name:
            of = of if of.namespace or of.kind in _OF_THE_CLUSTER else replace(of, namespace="kube-system")
            names.append(of)
        if of.kind and of.name and of.kind != "CustomResourceDefinition":
            objects[f"{of.kind} {of.name}"] = dict(_leaves(doc))
    return NearestManifest(version, objects, names=tuple(names))


def _leaves(doc: Doc) -> Iterator[tuple[Path, Any]]:
    """The leaves of a document. A fieldRef gets its default apiVersion, which the API server adds."""
    place = schema_of(doc["apiVersion"], doc["kind"]).root
    paths = tuple(fields_of(doc, place))
    for path in paths:
        above = path[-1].startswith("k:") and not any(
            each[: len(path)] == path and not names_item(each) for each in paths
        )
        value = value_at(doc, path, place)
        if (above or not names_item(path)) and value is not None and path[:2] not in _IDENTITY:
            of_field = path[-1] == "f:fieldRef" and isinstance(value, Mapping)
            yield path, {"apiVersion": "v1", **value} if of_field else value


_IDENTITY = (("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name"), ("f:metadata", "f:namespace"))
_OF_THE_CLUSTER = frozenset(resource.kind for resource in kinds.SINGLE if not resource.namespaced)


@lru_cache(maxsize=64)
def _nearest(addon: str, wanted: str, agent: bool) -> NearestManifest:
    """The manifest of the version, else the one before it. That is exact if the one after it differs only in images and
    the version's own name."""
    found = _nearest_of(all_known(addon), wanted)
    return found if agent else found.without_agent()


def _nearest_of(known: tuple[NearestManifest, ...], wanted: str) -> NearestManifest:
    exact = [each for each in known if _order(each.version) == _order(wanted)]
    whole = [
        each for each in known if _order(each.version)[:3] == _order(wanted)[:3] and "eksbuild" not in each.version
    ]
    if exact or whole:
        return (exact or whole)[0].named(wanted)
    older = [each for each in known if _order(each.version) < _order(wanted)]
    newer = [each for each in known if _order(wanted) < _order(each.version)]
    best = older[-1] if older else newer[0]
    alike = bool(older and newer) and _but_version(older[-1]) == _but_version(newer[0])
    (major, minor), (wanted_major, wanted_minor) = ((*_order(each), 0)[:2] for each in (best.version, wanted))
    far = major != wanted_major or abs(minor - wanted_minor) > 1
    return replace(best.named(wanted), exact=alike, far=far and not alike, known=best.version)


def _but_version(known: NearestManifest) -> object:
    return {
        of: {path: value for path, value in values.items() if not _names_version(path)}
        for of, values in known.objects.items()
    }


def _names_version(path: Path) -> bool:
    return path[-1] in ("f:image", "f:app.kubernetes.io/version") or 'k:{"name":"VPC_CNI_VERSION"}' in path


@lru_cache(maxsize=1024)
def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


@cache
def all_known(addon: str) -> tuple[NearestManifest, ...]:
    """Oldest first."""
    found: list[NearestManifest] = []
    objects: dict[str, dict[Path, Any]] = {}
    for each in (each for each in records(AddonManifest, "addon_manifests") if each.addon == addon):
        objects = {of: dict(values) for of, values in objects.items()}
        for of, changes in each.changes.items():
            values = objects.setdefault(of, {})
            for text, value in changes.items():
                path = tuple(text.split(" "))
                values[path] = value
                if value is None:
                    del values[path]
        found.append(NearestManifest(each.version, objects))
    return tuple(sorted(found, key=lambda each: _order(each.version)))


def built(values: Values) -> Doc:
    """The part of an object with these leaves."""
    root: Doc = {}
    for path, value in values.items():
        at: Any = root
        for step, below in zip(path, (*path[1:], ""), strict=True):
            last = below == ""
            if step.startswith("f:"):
                new: Any = value if last else [] if below[:2] in ("k:", "v:") else {}
                at = at.setdefault(step[2:], new)
            elif step.startswith("k:"):
                keys = keys_of(step)
                item = next((each for each in at if all(each.get(key) == keys[key] for key in keys)), None)
                if item is None:
                    at.append(item := dict(keys))
                at = item
            else:
                at.append(value_of(step))
    return root


def upstream(version: str) -> str:
    """``v1.20.4-eksbuild.2`` → ``v1.20.4``."""
    return version.partition(_BUILD)[0]


def _named(value: Any, path: Path, old: str, new: str, version: str) -> Any:
    if not _names_version(path) or not isinstance(value, str):
        return value
    if path[-1] != "f:image":
        return new if value == old else value
    repository, _, tag = value.rpartition(":")
    return f"{repository}:{version}" if upstream(tag) == old else value


def in_registry(image: Any, host: str) -> Any:
    """The image as EKS names it: in the registry of the cluster's region, with a build. The build number of an image
    other than the add-on's own (the network policy agent) is unknown."""
    if not isinstance(image, str):
        return image
    here = f"{host or _REGISTRY}/{image.partition('/')[2]}"
    return here if _BUILD in here or "@" in here else here + _SOME_BUILD


def may_be(live: object, image: object) -> bool:
    """The live image may be EKS's, whose registry or build is unknown."""
    if not isinstance(live, str) or not isinstance(image, str) or live == image:
        return False
    if image.endswith(_SOME_BUILD):
        live, image = upstream(live), upstream(image)
    if image.startswith(_REGISTRY):
        live, image = live.partition("/")[2], image.partition("/")[2]
    return live == image


def has_some_build(image: object) -> bool:
    """The build number or the registry of the image is unknown."""
    return isinstance(image, str) and (image.endswith(_SOME_BUILD) or image.startswith(_REGISTRY))


_BUILD = "-eksbuild"
_SOME_BUILD = f"{_BUILD}.N"
_REGISTRY = "ACCOUNT.dkr.ecr.REGION.amazonaws.com"


def registry_of(doc: Doc, mine: object, values: Values, place: SchemaPlace) -> str:
    """The registry of an image that EKS owns in the object, "" if there is none."""
    for path in values:
        if path[-1] == "f:image" and path in mine:  # type: ignore[operator]
            host, _, rest = str(value_at(doc, path, place)).partition("/")
            if rest:
                return host
    return ""


# Places where a chart renders its values: the parts of live objects that EKS applies for them. Values that
# knowledge/software.json does not list are not known to be rendered.


@frozen
class Rendered:
    """One value of the chart, and the part of an object that it renders. `placeholder_part` is the part with a
    placeholder as the value. `config` is () for the role, which no configuration value sets."""

    config: ConfigPath
    of: ObjectName
    part: Doc
    plain: Doc


@frozen
class _Rule:
    """The `field` of the object `of` (``ConfigMap coredns``) that the chart renders from `value`; a `value` that ends
    with ``*`` stands for each key below it. In a field, ``containers[coredns]`` is the item with that name, and
    ``env[*]`` the item named by the key."""

    value: str
    of: str
    field: str

    @property
    def each(self) -> bool:
        return self.value.endswith(".*")

    @property
    def at(self) -> ConfigPath:
        return tuple(self.value.removesuffix(".*").split("."))

    def part(self, key: str, value: Any) -> Doc:
        """The part as the template renders it; variables and data are texts."""
        made: Any = _text(value) if self.each or self.field.startswith("data.") else value
        for step in reversed(self.field.split(".")):
            name, listed, item = step.partition("[")
            made = {name: [{"name": key if item == "*]" else item[:-1], **made}] if listed else made}
        return made  # type: ignore[no-any-return]


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


def _applied(addon: str) -> RenderedAddon | None:
    return _APPLIED.by("name").get(addon)


def rendered(addon: str, values: Doc) -> tuple[Rendered, ...]:
    """The parts rendered from `values`, in the order of the rules; none for an add-on without rules."""
    of = _applied(addon)
    return () if of is None else tuple(part for rule in of.values for part in _by(of, rule, values))


def role_rendered(addon: str, role: str) -> tuple[Rendered, ...]:
    """The annotation of the service account that EKS sets from the add-on's ``serviceAccountRoleArn``."""
    of = _applied(addon)
    if of is None or not of.role_account or not role:
        return ()
    part, plain = ({"metadata": {"annotations": {_ROLE: value}}} for value in (role, _PLAIN))
    return (Rendered((), of.object("ServiceAccount", of.role_account), part, plain),)


def stems(addon: str, of: ObjectName) -> tuple[tuple[ConfigPath, Doc, bool], ...]:
    """For each value rendered into the object: its path, the part that a placeholder renders, and whether it is one of
    many whose names are data (environment variables)."""
    found = _applied(addon)
    rules = found.values if found and of in found.objects else ()
    mine = f"{of.kind} {of.name}"
    return tuple((rule.at, rule.part(_PLAIN, _PLAIN), rule.each) for rule in rules if rule.of == mine)


def ends_somewhere(addon: str, config: ConfigPath) -> bool:
    """The field that this configuration value sets is known."""
    of = _applied(addon)
    return of is not None and any(config[: len(rule.at)] == rule.at for rule in of.values)


def objects_of(addon: str) -> tuple[ObjectName, ...]:
    """The objects whose fields are checked."""
    of = _applied(addon)
    return of.objects if of else ()


def addons_of(kind: str, name: str) -> tuple[str, ...]:
    """The add-ons that apply an object of that kind (``DaemonSet``) and name."""
    return tuple(each.name for each in _APPLIED if (kind, name) in ((of.kind, of.name) for of in each.objects))


_PLAIN = "x"


def knows_all(addon: str) -> bool:
    """`objects_of` lists all objects that the add-on applies."""
    of = _applied(addon)
    return of is not None and of.complete


def every_object() -> tuple[ObjectName, ...]:
    """The known objects of all add-ons."""
    return tuple(of for each in _APPLIED for of in each.objects)


def _by(applied: RenderedAddon, rule: _Rule, values: Doc) -> Iterator[Rendered]:
    found: Any = values
    for key in rule.at:
        found = found.get(key) if isinstance(found, dict) else None
    if found is None or found in ({}, []):
        return  # templates omit empty values
    of = applied.object(*rule.of.split())
    if not rule.each:
        yield Rendered(rule.at, of, rule.part("", found), rule.part("", _PLAIN))
    elif isinstance(found, dict):
        for key in sorted(found):
            if found[key] is not None:
                yield Rendered((*rule.at, key), of, rule.part(key, found[key]), rule.part(key, _PLAIN))


def _text(value: Any) -> str:
    """The value as a template prints it between quotes."""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


_ROLE = "eks.amazonaws.com/role-arn"
