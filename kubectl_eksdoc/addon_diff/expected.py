"""Configuration that EKS will apply to one live object: the fields it owns, with the values of chart and update.

No document lists what EKS applies. It is derived from three sources: the fields that `eks` owns now, the rendered chart
of the target version, and the paths of the target's schema (field.md 11). The result names contradictions between them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import field
from enum import Enum
from functools import lru_cache

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import Schema, SchemaPlace, schema_of
from kubectl_eksdoc.kubernetes.document_diff import (
    NONE,
    FieldSet,
    Path,
    Tree,
    fields_of,
    names_item,
    tree_of,
    united,
)
from kubectl_eksdoc.kubernetes.field_paths import keys_of
from kubectl_eksdoc.kubernetes.managed_fields import (
    Entry,
    FieldManager,
    MalformedEntries,
    owner_of,
    read,
    without_entries,
)
from kubectl_eksdoc.kubernetes.server_side_apply import BEFORE_FIRST_APPLY, kept, merged, removed
from kubectl_eksdoc.model.addons import ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.api_objects import at as found_at
from kubectl_eksdoc.model.knowledge import file

from .fields import MISSING, value_at
from .manifests import (
    AddonManifests,
    Rendered,
    Values,
    built,
    ends_somewhere,
    in_registry,
    may_be,
    registry_of,
    stems,
    upstream,
)
from .schema import SchemaPaths

EKS = owner_of("eks", "Apply", "", "")


class Witness(Enum):
    """Evidence that EKS applies a field."""

    VALUES = "the configuration values set it"
    ROLE = "it is the add-on's IAM role"
    OWNED = "EKS owns it, or its entry, today"
    MANIFEST = "the manifest of the target version has it"
    NEAREST = "the manifest of the nearest known version has it"
    SCHEMA = "the schema of the target version has it"
    CHART = "the chart of the target version renders it, and its schema is not known"


@frozen
class ExpectedApply:
    """The update as it is known, by the parts of objects that the chart renders (`manifests.render_values`).

    `current_parts` are rendered for the current version and values, `target_parts` for those of the update. `set_paths`
    are the paths that the configuration values of the update set, `current_paths` those that the current ones set, None
    if they are unknown. `schema`: the target's, None if unknown; `current_schema`: that of the installed version.
    `is_chart_known`: the target's chart is known, so `target_parts` is complete. `installed_version`: the current
    version. `has_agent`: the network policy agent is enabled before and after. `manifests`: those of both versions,
    None if none is known.
    """

    before: tuple[Rendered, ...]
    after: tuple[Rendered, ...]
    explicit: Set[ConfigPath] = frozenset()
    schema: SchemaPaths | None = None
    schema_now: SchemaPaths | None = None
    addon: str = ""
    chart: bool = True
    installed: str = ""
    agent: bool = True
    manifests: AddonManifests | None = None
    today: Set[ConfigPath] | None = frozenset()

    @property
    def by_manifest(self) -> Witness:
        return Witness.MANIFEST if self.manifests is None or self.manifests.exact else Witness.NEAREST

    def values_of(self, of: ObjectName) -> tuple[Values, Values]:
        """The object's fields in the manifests of both versions; none if one of them lacks the object."""
        if self.manifests is None:
            return {}, {}
        now, target = self.manifests.now.of(of), self.manifests.target.of(of)
        return (now, target) if now and target else ({}, {})


@frozen
class ExpectedConfig:
    """`config` is the document that EKS applies. `evidence` and `config_paths` are by field. `doubted_parts`: fields
    that the chart renders although neither schema nor ownership shows that EKS applies them. `unknown_paths`: fields
    that EKS applies with an unknown value and that another owner sets. `shared_paths`: fields that EKS and another
    owner have, or may have, with the same value; whether the version changes them is unknown. `may_lack`: fields of the
    manifests that the object lacks; whether a user removed them or EKS's build never had them is unknown."""

    config: Doc
    owners: Mapping[FieldManager, FieldSet]
    why: Mapping[Path, Witness] = field(default_factory=dict)
    paths: Mapping[Path, ConfigPath] = field(default_factory=dict)
    doubted: Mapping[Path, Rendered] = field(default_factory=dict)
    unsure: tuple[Path, ...] = ()
    shared: tuple[Path, ...] = ()
    may_lack: Set[Path] = frozenset()


def expected(live: Doc, of: ObjectName, update: ExpectedApply, schema: Schema) -> ExpectedConfig:
    """Derive the configuration that EKS applies to the live object.

    Raises:
        MalformedEntries: the object has managedFields that no API server wrote.
    """
    place = schema.root
    owners = {owner: entry.fields for owner, entry in owners_of(live).items()}
    mine, others = owners.get(EKS, NONE), _others(owners)
    doc = without_entries(live)
    now, target = update.values_of(of) if applies(owners) else ({}, {})
    may_lack = _may_lack(doc, mine, others, of, update, schema)
    alike = (others & mine) | _of_installers(owners)
    lasting = {path: target[path] for path in target if path not in may_lack}
    rules = _Rules.of(update, of, schema)
    of_values = _of_values(doc, alike, now, target, place)
    why = {path: update.by_manifest for path in lasting if path not in of_values}
    rendered: dict[Path, Rendered] = {}
    paths: dict[Path, ConfigPath] = {}
    known: Doc = {}
    for part in (each for each in update.after if each.of == of):
        named = leaves_of(part.part, schema)
        (stem,) = leaves_of(part.plain, schema)
        rendered |= dict.fromkeys(named, part)
        paths |= {path: _config_of(part.config, path[len(stem) :]) for path in named}
        witness = next((each for each, tells in _WITNESSES if tells(update, mine, part.config, named)), None)
        if witness is not None:
            why |= dict.fromkeys(named, witness)
            known = merged(known, part.part, place)
    doubted = {path: part for path, part in rendered.items() if path not in why}
    base = removed(kept(doc, mine, place), _dropped(update, of, schema), place)
    news = _news(doc, mine, now, lasting, place)
    base = merged(_without(base, now, target, place), built(news), place)
    config = merged({**_identity(live), **base}, known, place)
    shared = tuple(path for path in alike if path not in why and not names_item(path))
    on_the_way = {path[:at] for path in others for at in range(1, len(path))}
    told = on_the_way | {*why, *doubted, *shared}
    exact = update.by_manifest is Witness.MANIFEST
    whole = exact and bool(target) and all(ends_somewhere(update.addon, path) for path in update.explicit)
    unsure = tuple(
        path
        for path in others
        if (_is_unsure(path, config, told, rules, schema) and not (whole and rules.is_known(path, {*now, *target})))
        or (path in news and may_be(value_at(doc, path, place), news[path]))
    )
    paths = {path: rules.config_of(path) for path in (*target, *unsure) if path not in mine} | paths
    return ExpectedConfig(config, owners, why, paths, doubted, unsure, shared, may_lack)


_WITNESSES: tuple[tuple[Witness, Callable[[ExpectedApply, FieldSet, ConfigPath, tuple[Path, ...]], bool]], ...] = (
    (Witness.ROLE, lambda update, mine, config, named: not config),
    (
        Witness.VALUES,
        lambda update, mine, config, named: any(path[: len(config)] == config for path in update.explicit),
    ),
    (Witness.OWNED, lambda update, mine, config, named: any(path in mine or path[:-1] in mine for path in named)),
    (Witness.CHART, lambda update, mine, config, named: update.schema is None),
    (Witness.SCHEMA, lambda update, mine, config, named: update.schema is None or update.schema.of(config) is not None),
)
"""Evidence that EKS applies what the chart renders for the value at `config`, which sets the fields `named`. The first
match counts. If none matches, the manifest of the target version may still have the field."""


def _news(doc: Doc, mine: FieldSet, now: Values, target: Values, place: SchemaPlace) -> Values:
    """Fields that the target's manifest changes, and fields of it that EKS has lost. EKS keeps the others as they are
    now."""
    host = registry_of(doc, mine, now, place)
    found = {path: value for path, value in target.items() if path not in mine or now.get(path, value) != value}
    return {path: in_registry(value, host) if path[-1] == "f:image" else value for path, value in found.items()}


def _may_lack(
    doc: Doc, mine: FieldSet, others: FieldSet, of: ObjectName, update: ExpectedApply, schema: Schema
) -> frozenset[Path]:
    """Fields that both manifests have and the object lacks, and that EKS may never have applied: a field that a user
    removed has no owner, and EKS may apply less than upstream. It is certain that EKS applied it if EKS owns the entry
    of the variable, or if all other fields that EKS owns match the manifest; for a label, if all other labels match."""
    now, target = update.values_of(of)
    stands = {path: value_at(doc, path, schema.root) for path in now}
    absent = {
        path for path in now if path in target and path not in mine and path not in others and stands[path] in EMPTY
    }
    variables = {path for path in absent if path[-3:-2] == _ENTRIES and path[:-1] in mine}
    sure = absent if absent and _agrees(doc, mine, others, absent, of, update, schema) else variables
    labels = {path: now[path] for path in now if _is_label(path) and path not in absent and path not in others}
    alike = labels and labels == {path: value_at(doc, path, schema.root) for path in mine if _is_label(path)}
    return frozenset(path for path in absent if path not in sure or (_is_label(path) and not alike))


EMPTY: tuple[object, ...] = (MISSING, None, "", {}, [])


def _agrees(
    doc: Doc, mine: FieldSet, others: FieldSet, absent: Set[Path], of: ObjectName, update: ExpectedApply, schema: Schema
) -> bool:
    """EKS owns exactly the fields of the current manifest, apart from `absent` ones, labels, and fields that
    configuration values set."""
    if update.manifests is None or not update.manifests.now.exact or update.today is None:
        return False
    now = update.manifests.now.of(of)
    rules = _Rules.of(update, of, schema)
    owned = {path for path in mine if not names_item(path)}
    named = {path for path in now if now[path] not in EMPTY and path not in absent and path not in others}
    for path in owned | named:
        if _is_label(path) or any(rules.config_of(path)[: len(each)] == each for each in update.today):
            continue
        live = value_at(doc, path, schema.root)
        if path not in now and live in EMPTY:
            continue  # a null of the manifest (creationTimestamp)
        if path[-1] == "f:image":
            alike = path not in now or upstream(_in_repository(live)) == upstream(_in_repository(now[path]))
        else:
            alike = path in now and live == now[path]
        if path not in owned or not alike:
            return False
    return bool(owned)


def _in_repository(image: object) -> str:
    return str(image).partition("/")[2]


def _is_label(path: Path) -> bool:
    """EKS sets labels and annotations that upstream lacks."""
    return "f:labels" in path or "f:annotations" in path


def _of_values(doc: Doc, alike: FieldSet, now: Values, target: Values, place: SchemaPlace) -> set[Path]:
    """Shared fields whose value differs from both manifests: a configuration value may set it, and the update may drop
    that value."""
    return {
        path
        for path in target
        if path in alike and path in now and now[path] == target[path] and path[-1] != "f:image"
        if not _is_label(path) and value_at(doc, path, place) != now[path]
    }


def _without(base: Doc, now: Values, target: Values, place: SchemaPlace) -> Doc:
    """`base` without the fields that the target's manifest no longer has, and without list items that lose all their
    fields."""
    stays = {path[:at] for path in target for at in range(1, len(path) + 1)}
    gone: Tree = {}
    for path in (path for path in now if path not in stays):
        items = (path[:at] for at in range(1, len(path)) if path[at - 1].startswith("k:"))
        gone = united(gone, tree_of(next((item for item in items if item not in stays), path)))
    return removed(base, FieldSet(gone), place)


def config_of(addon: str, of: ObjectName, path: Path, schema: Schema) -> ConfigPath:
    """Path of the object's field in the add-on's configuration values, () if it has none of its own."""
    return _Rules.of(ExpectedApply((), (), addon=addon), of, schema).config_of(path)


def applies(owners: Collection[FieldManager]) -> bool:
    """EKS applies the object: EKS owns a field, or the object's managedFields were cleared."""
    return EKS in owners or {owner.manager for owner in owners} == {BEFORE_FIRST_APPLY}


def owners_of(live: Doc) -> Mapping[FieldManager, Entry]:
    """If the list of managedFields is empty, all fields belong to the manager that the API server names at the next
    apply.

    Raises:
        MalformedEntries: the object has managedFields that no API server wrote.
    """
    try:
        found = read(live)
        if not found and found_at(live, "metadata", "managedFields") is not None:
            doc = without_entries(live)
            fields = fields_of(doc, schema_of(str(doc.get("apiVersion", "")), str(doc.get("kind", ""))).root)
            return {owner_of(BEFORE_FIRST_APPLY, "Update", "", ""): Entry(fields, "", "")}
        return found
    except (AttributeError, TypeError) as error:  # not a list of objects
        raise MalformedEntries(f"they are no list of entries: {error}") from error


def _identity(live: Doc) -> Doc:
    meta = live.get("metadata", {})
    who = {key: meta[key] for key in ("name", "namespace") if key in meta}
    return {"apiVersion": live.get("apiVersion", ""), "kind": live.get("kind", ""), "metadata": who}


def leaves_of(part: Doc, schema: Schema) -> tuple[Path, ...]:
    """The fields of the part that carry a value, without the keys of list items and the items themselves."""
    return tuple(path for path in fields_of(part, schema.root) if not names_item(path))


def _config_of(config: ConfigPath, below: Path) -> ConfigPath:
    """Configuration path of a field at the relative path `steps` below the field that `config` sets; () if it has none
    of its own."""
    return (*config, *(step[2:] for step in below)) if all(step.startswith("f:") for step in below) else ()


def _dropped(update: ExpectedApply, of: ObjectName, schema: Schema) -> FieldSet:
    """Environment variables that the current version renders and the target does not. For other fields, a template may
    set a default where no value does."""
    stays = {path for part in update.after if part.of == of for path in leaves_of(part.part, schema)}
    gone: Tree = {}
    for part in update.before:
        for path in leaves_of(part.part, schema) if part.of == of else ():
            if path not in stays and path[-3:-2] == _ENTRIES:
                gone = united(gone, tree_of(path[:-1]))
    return FieldSet(gone)


def _others(owners: Mapping[FieldManager, FieldSet]) -> FieldSet:
    found = NONE
    for owner, fields in owners.items():
        found |= fields if owner != EKS and owner.subresource != "status" else NONE
    return found


def _of_installers(owners: Mapping[FieldManager, FieldSet]) -> FieldSet:
    """All fields of managers that apply whole objects, as Helm does with the same chart: EKS may apply any of them,
    too."""
    found = NONE
    for owner, fields in owners.items():
        if owner != EKS and any(path[-1] in _WHOLE for path in fields):
            found |= fields
    return found


_WHOLE = frozenset(("f:selector", "f:helm.sh/chart"))
"""Fields that are not edited by hand: an owner of one of them has installed the object."""


@lru_cache
def _stems(addon: str, of: ObjectName, schema: Schema) -> tuple[tuple[ConfigPath, Path, bool], ...]:
    return tuple((at, leaves_of(part, schema)[0], each) for at, part, each in stems(addon, of))


@frozen
class _Rules:
    """Where the add-on's configuration values appear in one object. `is_chart_known`: EKS applies nothing in these
    places that the chart does not render."""

    stems: tuple[tuple[ConfigPath, Path, bool], ...]
    whole: bool

    @classmethod
    def of(cls, update: ExpectedApply, of: ObjectName, schema: Schema) -> _Rules:
        return cls(_stems(update.addon, of, schema), update.chart)

    def config_of(self, path: Path) -> ConfigPath:
        """Path of a field in the configuration values, () if it has none of its own."""
        for at, stem, each in self.stems:
            if each and len(path) == len(stem) and _but_item(path) == _but_item(stem):
                return (*at, str(keys_of(path[-2]).get("name", "")))
            if not each and path[: len(stem)] == stem:
                return _config_of(at, path[len(stem) :])
        return ()

    def is_known(self, path: Path, by_manifests: Set[Path]) -> bool:
        """The manifests show whether EKS applies the field. For a field that a configuration value sets, only the chart
        does. The manifests may lack an image: the version does not tell its variant."""
        if path in by_manifests:
            return True
        label = _is_label(path) and not path[-1].startswith("f:prometheus.io/")
        return (self.whole or not self.config_of(path)) and path[-1] != "f:image" and not label

    def tells(self, path: Path) -> bool:
        """Only chart values could set the field, and they do not."""
        return self.whole and any(
            _but_item(path) == _but_item(stem) if each else path[: len(stem)] == stem and len(path) > len(stem)
            for _, stem, each in self.stems
        )


def _but_item(path: Path) -> Path:
    """The path without the key of its list item."""
    return (*path[:-2], *path[-1:])


def _is_unsure(path: Path, config: Doc, told: Set[Path], rules: _Rules, schema: Schema) -> bool:
    """A field that another owner sets in an object that EKS applies may be EKS's, unless it is known not to be."""
    if path in told or names_item(path):
        return False
    if path[0] == "f:metadata" or path[:3] == _TEMPLATE_METADATA:
        key = path[-1].removeprefix("f:")
        return key in file("applied_fields")["labels"] or key.startswith("app.kubernetes.io/")
    for at, step in enumerate(path):
        if step[:2] in ("k:", "v:") and value_at(config, path[: at + 1], schema.root) is MISSING:
            return path[at - 1] == "f:env" and not rules.whole  # list items that only other managers have are theirs
    return not rules.tells(path)


_TEMPLATE_METADATA = ("f:spec", "f:template", "f:metadata")

_ENTRIES = ("f:env",)
