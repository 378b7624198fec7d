"""What EKS applies for a version of an add-on: the public manifests of its versions (knowledge/addon_manifests.json).

They are the upstream's, or of clusters that EKS made: EKS has labels and a registry of its own, so where a manifest
says the same for both versions, what EKS owns today counts.
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
"""Leaves of an object; an item that has nothing but its keys is one itself."""


@frozen
class AddonManifest:
    """`changes`: by object (``DaemonSet aws-node``) and path, what is other than in the version before; null: gone."""

    addon: str
    version: str
    changes: Doc
    source: KnowledgeSource


@frozen
class NearestManifest:
    """The manifest of `version`; not `exact`: it is the nearest to the one that is meant; `far`: of a version more than
    one minor away from that. `names`: its objects, of a manifest that a user gives. `known`: whose manifest it is."""

    version: str
    objects: Mapping[str, Values]
    exact: bool = True
    far: bool = False
    names: tuple[ObjectName, ...] = ()
    known: str = ""

    def of(self, named: ObjectName) -> Values:
        return self.objects.get(f"{named.kind} {named.name}", {})

    def without_agent(self) -> NearestManifest:
        """As the chart makes it where values leave that container out."""
        step = 'k:{"name":"aws-eks-nodeagent"}'
        kept = {of: {path: each[path] for path in each if step not in path} for of, each in self.objects.items()}
        return replace(self, objects=kept)

    def any_values(self) -> NearestManifest:
        """Of a version of which nothing more is known than that it has these fields."""
        any_value = object()
        values = {of: dict.fromkeys(each, any_value) for of, each in self.objects.items()}
        return NearestManifest("", values, exact=False, far=True)

    def named(self, version: str) -> NearestManifest:
        """Where it names its version, with `version`, as upstream has it; images keep EKS's build."""
        old, new = upstream(self.version), upstream(version)
        named = {
            of: {path: _named(value, path, old, new, version) for path, value in values.items()}
            for of, values in self.objects.items()
        }
        return NearestManifest(version, named, self.exact)


@frozen
class AddonManifests:
    """Of today's version and of the target."""

    now: NearestManifest
    target: NearestManifest

    @property
    def exact(self) -> bool:
        return self.now.exact and self.target.exact

    @property
    def far(self) -> bool:
        """It says nothing of what an object lacks."""
        return self.now.far or self.target.far


def manifests(
    addon: str, now: str, target: str, agent: bool, given: NearestManifest | None = None
) -> AddonManifests | None:
    """None for an add-on of which none is known. `agent`: vpc-cni's network policy agent is on. `given`: the target's,
    by a user; where today's is not known, it names the same fields, and any may change."""
    known = all_known(addon)
    if not known or not _order(now) or not _order(target):
        return None if given is None else AddonManifests(given.any_values(), given)
    if given is not None and not agent:
        given = given.without_agent()
    return AddonManifests(_nearest(addon, now, agent), given or _nearest(addon, target, agent))


def known_of(version: str, docs: Iterable[Doc]) -> NearestManifest:
    """Custom resource definitions are left out: users do not write to them."""
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
    """With the version of a fieldRef, which the API server adds to the value as a whole."""
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
    """The version itself; else the one before it, which is as good where the one after it says the same but for images
    and the version's own name."""
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
    """The oldest first."""
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
    """The part of an object that has these leaves."""
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
    """As EKS names it: in the registry of the cluster's region, and with a build. The number of the build of another
    program than the add-on's own (the network policy agent) is not known."""
    if not isinstance(image, str):
        return image
    here = f"{host or _REGISTRY}/{image.partition('/')[2]}"
    return here if _BUILD in here or "@" in here else here + _SOME_BUILD


def may_be(live: object, image: object) -> bool:
    """The live image may be the one that EKS applies, of which the registry or the build is not known."""
    if not isinstance(live, str) or not isinstance(image, str) or live == image:
        return False
    if image.endswith(_SOME_BUILD):
        live, image = upstream(live), upstream(image)
    if image.startswith(_REGISTRY):
        live, image = live.partition("/")[2], image.partition("/")[2]
    return live == image


def has_some_build(image: object) -> bool:
    """The number of its build, or its registry, is not known."""
    return isinstance(image, str) and (image.endswith(_SOME_BUILD) or image.startswith(_REGISTRY))


_BUILD = "-eksbuild"
_SOME_BUILD = f"{_BUILD}.N"
_REGISTRY = "ACCOUNT.dkr.ecr.REGION.amazonaws.com"


def registry_of(doc: Doc, mine: object, values: Values, place: SchemaPlace) -> str:
    """The host of an image that EKS itself has there, "" where it has none."""
    for path in values:
        if path[-1] == "f:image" and path in mine:  # type: ignore[operator]
            host, _, rest = str(value_at(doc, path, place)).partition("/")
            if rest:
                return host
    return ""


# Where an add-on's chart puts each of its values: the parts of live objects that EKS applies for them.
#
# What is not listed in knowledge/software.json is not known to be rendered anywhere.


@frozen
class Rendered:
    """One value of the chart, and the part of the object `of` that it makes; `plain` is the part that a plain value
    would make in its place. `config` is () for what no configuration value makes: the role."""

    config: ConfigPath
    of: ObjectName
    part: Doc
    plain: Doc


@frozen
class _Rule:
    """The `field` of the object `of` (``ConfigMap coredns``) that is made of what stands at `value`; where that ends
    with ``*``, of every key below it by itself. In a field ``containers[coredns]`` is the item of that name, and
    ``env[*]`` that of the key's."""

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
        """As the template makes it; variables and data are texts."""
        made: Any = _text(value) if self.each or self.field.startswith("data.") else value
        for step in reversed(self.field.split(".")):
            name, listed, item = step.partition("[")
            made = {name: [{"name": key if item == "*]" else item[:-1], **made}] if listed else made}
        return made  # type: ignore[no-any-return]


@frozen
class RenderedAddon:
    """What EKS applies for the add-on `name`: `objects`, or some of them where they are not `complete`. `role_account`:
    the service account whose pods call AWS with the add-on's role, "" for none."""

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
    """What is known to be made of `values`, by the order of the rules; nothing for an add-on without any."""
    of = _applied(addon)
    return () if of is None else tuple(part for rule in of.values for part in _by(of, rule, values))


def role_rendered(addon: str, role: str) -> tuple[Rendered, ...]:
    """What EKS makes of the add-on's ``serviceAccountRoleArn``: an annotation of the service account that has it."""
    of = _applied(addon)
    if of is None or not of.role_account or not role:
        return ()
    part, plain = ({"metadata": {"annotations": {_ROLE: value}}} for value in (role, _PLAIN))
    return (Rendered((), of.object("ServiceAccount", of.role_account), part, plain),)


def stems(addon: str, of: ObjectName) -> tuple[tuple[ConfigPath, Doc, bool], ...]:
    """For each value that ends in that object: where it stands, what a plain value makes there, and whether it is one
    of many whose names are data (environment variables)."""
    found = _applied(addon)
    rules = found.values if found and of in found.objects else ()
    mine = f"{of.kind} {of.name}"
    return tuple((rule.at, rule.part(_PLAIN, _PLAIN), rule.each) for rule in rules if rule.of == mine)


def ends_somewhere(addon: str, config: ConfigPath) -> bool:
    """It is known which field that configuration value makes."""
    of = _applied(addon)
    return of is not None and any(config[: len(rule.at)] == rule.at for rule in of.values)


def objects_of(addon: str) -> tuple[ObjectName, ...]:
    """Those whose fields are looked at."""
    of = _applied(addon)
    return of.objects if of else ()


def addons_of(kind: str, name: str) -> tuple[str, ...]:
    """Those that apply an object of that kind (``DaemonSet``) and name."""
    return tuple(each.name for each in _APPLIED if (kind, name) in ((of.kind, of.name) for of in each.objects))


_PLAIN = "x"


def knows_all(addon: str) -> bool:
    """Whether `objects_of` is all that the add-on applies."""
    of = _applied(addon)
    return of is not None and of.complete


def every_object() -> tuple[ObjectName, ...]:
    """Of all the add-ons of which that is known."""
    return tuple(of for each in _APPLIED for of in each.objects)


def _by(applied: RenderedAddon, rule: _Rule, values: Doc) -> Iterator[Rendered]:
    found: Any = values
    for key in rule.at:
        found = found.get(key) if isinstance(found, dict) else None
    if found is None or found in ({}, []):
        return  # templates leave out what is empty
    of = applied.object(*rule.of.split())
    if not rule.each:
        yield Rendered(rule.at, of, rule.part("", found), rule.part("", _PLAIN))
    elif isinstance(found, dict):
        for key in sorted(found):
            if found[key] is not None:
                yield Rendered((*rule.at, key), of, rule.part(key, found[key]), rule.part(key, _PLAIN))


def _text(value: Any) -> str:
    """As a template prints it between quotes."""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


_ROLE = "eks.amazonaws.com/role-arn"
