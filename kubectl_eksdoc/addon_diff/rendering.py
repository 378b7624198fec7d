"""Where an add-on's chart puts each of its values: the parts of live objects that EKS applies for them.

What is not listed in knowledge/software.json is not known to be rendered anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.aws.configuration import Path as ConfigPath
from kubectl_eksdoc.model.knowledge import KnowledgeSource, sections


@dataclass(frozen=True, slots=True)
class Rendered:
    """One value of the chart, and the part of the object `of` that it makes; `plain` is the part that a plain value
    would make in its place. `config` is () for what no configuration value makes: the role."""

    config: ConfigPath
    of: ObjectName
    part: Doc
    plain: Doc


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


_APPLIED = {each.name: each for each in sections(RenderedAddon, "software", "applied")}


def _access(of: RenderedAddon, role: str) -> tuple[ObjectName, ObjectName, ObjectName]:
    account = of.object("ServiceAccount", role.rpartition(":")[2])
    return account, of.object("ClusterRole", role), of.object("ClusterRoleBinding", role)


_CNI, _DNS = _APPLIED["vpc-cni"], _APPLIED["coredns"]
AWS_NODE, CNI_MAP = _CNI.object("DaemonSet", "aws-node"), _CNI.object("ConfigMap", "amazon-vpc-cni")
COREDNS, COREFILE = _DNS.object("Deployment", "coredns"), _DNS.object("ConfigMap", "coredns")
KUBE_DNS, KUBE_PROXY = _DNS.object("Service", "kube-dns"), _APPLIED["kube-proxy"].object("DaemonSet", "kube-proxy")
CNI_ACCESS, DNS_ACCESS = _access(_CNI, "aws-node"), _access(_DNS, "system:coredns")


def rendered(addon: str, values: Doc) -> tuple[Rendered, ...]:
    """What is known to be made of `values`, by the order of the rules; nothing for an add-on without any."""
    of = _APPLIED.get(addon)
    return () if of is None else tuple(part for rule in of.values for part in _by(of, rule, values))


def role_rendered(addon: str, role: str) -> tuple[Rendered, ...]:
    """What EKS makes of the add-on's ``serviceAccountRoleArn``: an annotation of the service account that has it."""
    of = _APPLIED.get(addon)
    if of is None or not of.role_account or not role:
        return ()
    part, plain = ({"metadata": {"annotations": {_ROLE: value}}} for value in (role, _PLAIN))
    return (Rendered((), of.object("ServiceAccount", of.role_account), part, plain),)


def stems(addon: str, of: ObjectName) -> tuple[tuple[ConfigPath, Doc, bool], ...]:
    """For each value that ends in that object: where it stands, what a plain value makes there, and whether it is one
    of many whose names are data (environment variables)."""
    rules = _APPLIED[addon].values if of in objects_of(addon) else ()
    mine = f"{of.kind} {of.name}"
    return tuple((rule.at, rule.part(_PLAIN, _PLAIN), rule.each) for rule in rules if rule.of == mine)


def ends_somewhere(addon: str, config: ConfigPath) -> bool:
    """It is known which field that configuration value makes."""
    rules = _APPLIED[addon].values if addon in _APPLIED else ()
    return any(config[: len(rule.at)] == rule.at for rule in rules)


def objects_of(addon: str) -> tuple[ObjectName, ...]:
    """Those whose fields are looked at."""
    return _APPLIED[addon].objects if addon in _APPLIED else ()


def addons_of(of: str) -> tuple[str, ...]:
    """Those that apply an object which conflicts call so: ``DaemonSet.apps aws-node``."""
    return tuple(name for name, each in _APPLIED.items() if of in map(str, each.objects))


_PLAIN = "x"


def knows_all(addon: str) -> bool:
    """Whether `objects_of` is all that the add-on applies."""
    return addon in _APPLIED and _APPLIED[addon].complete


def every_object() -> tuple[ObjectName, ...]:
    """Of all the add-ons of which that is known."""
    return tuple(of for each in _APPLIED.values() for of in each.objects)


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
