"""Stand-in for EKS's add-on service: applies the objects of a chart (vpc-cni by default) as manager ``eks``.

It replaces AWS, so it uses no prediction of kubectl_eksdoc: only the chart and the API server's rules.

Facts about the service (the project's notes on EKS add-ons; UpdateAddon in the API's model; the messages of
amazon-vpc-cni-k8s issues 2607 and 2150) and assumptions of this stand-in:

- OVERWRITE applies with force. High.
- NONE applies without. Conflicts end the update with code ConfigurationConflict and the message below. High. That
  nothing at all is changed then, not even objects without a conflict, is assumed: EKS names conflicts of several
  objects in one message, like a client that tries all of them first.
- PRESERVE leaves the fields in conflict to their owners: they are removed from the configuration, and it is applied
  again. No document says how EKS does it; one does say that the value stays. Medium, and low if the field is one
  that configurationValues set: the live value overrides it, without a message.
- Configuration values replace the earlier document as a whole; without any the earlier ones stay; '{}' resets. High.
- Objects that a version no longer has stay. Assumed; a downgrade is not usual.
- A failed update leaves the add-on's version and values as they were. Assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.document_diff import FieldSet, Tree, fields_of, path_tree, union
from kubectl_eksdoc.kubernetes.field_paths import format_step
from kubectl_eksdoc.kubernetes.server_side_apply import remove_fields, without_new_nulls
from kubectl_eksdoc.model.api_objects import Doc
from tests.addon.stand_in.documents import Objects
from tests.addon.stand_in.rendering import Site, rendered
from tests.yaml_reader import yaml_of

MANAGER = "eks"

Mode = Literal["NONE", "OVERWRITE", "PRESERVE"]

_REFUSAL = "Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts: "


@dataclass(frozen=True)
class Error:
    """An error of an update; `resources` are names of objects."""

    code: str
    message: str
    resources: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How an update ended; `preserved` are the fields left to other owners, as in a message's lines. EKS does not
    report them."""

    status: Literal["Successful", "Failed"]
    errors: tuple[Error, ...] = ()
    preserved: tuple[str, ...] = ()


Render = Callable[[str, Doc, Site], "list[Doc]"]
"""What a version makes of values, in the order in which it is applied."""


class AddonService:
    """An add-on on one cluster, vpc-cni unless `render` is another's. Mutable: `version` and `values` are those of the
    last update that succeeded.

    `values` is the configuration document as the user wrote it, JSON or YAML, "" where there is none.
    """

    def __init__(
        self, objects: Objects, version: str, values: str = "", site: Site = Site(), render: Render = rendered
    ) -> None:
        """The add-on as it is already installed; `install` creates one."""
        self.objects, self.version, self.values, self.site = objects, version, values, site
        self.render = render

    @classmethod
    def install(
        cls, objects: Objects, version: str, values: str = "", site: Site = Site(), mode: Mode = "OVERWRITE"
    ) -> AddonService:
        """CreateAddon; raises AssertionError if it fails, as NONE and PRESERVE do on objects of other owners."""
        service = cls(objects, version, values, site)
        outcome = service.update(resolve_conflicts="OVERWRITE" if mode == "OVERWRITE" else "NONE")
        assert outcome.status == "Successful", outcome
        return service

    def copy(self, objects: Objects) -> AddonService:
        """The same add-on on a copy of its objects."""
        return AddonService(objects, self.version, self.values, self.site, self.render)

    def update(
        self,
        version: str = "",
        *,
        resolve_conflicts: Mode = "NONE",
        configuration_values: str | None = None,
    ) -> Outcome:
        """UpdateAddon, carried out to its end. Raises ValueError for an unknown version, or for values that are no
        object."""
        wanted = version or self.version
        values = self.values if configuration_values is None else configuration_values
        configs = [self._fitting(each) for each in self.render(wanted, _document(values), self.site)]
        outcome = _WAYS[resolve_conflicts](self.objects, configs)
        if outcome.status == "Successful":
            self.version, self.values = wanted, values
        return outcome

    def _fitting(self, config: Doc) -> Doc:
        """The object with the selector of the live workload, which no update can change (it is immutable)."""
        live = self.objects.get(config["kind"], config["metadata"]["name"])
        if config["kind"] not in ("DaemonSet", "Deployment") or live is None:
            return config
        return {**config, "spec": {**config["spec"], "selector": live["spec"]["selector"]}}


def _overwrite(objects: Objects, configs: Iterable[Doc]) -> Outcome:
    for config in configs:
        objects.apply(config, MANAGER, force=True)
    return Outcome("Successful")


def _refuse(objects: Objects, configs: Iterable[Doc]) -> Outcome:
    tried = [(config, objects.apply(config, MANAGER, dry_run=True)) for config in configs]
    lines = [line for config, fields in tried for line in _lines(config, fields)]
    if lines:
        names = tuple(config["metadata"]["name"] for config, fields in tried if fields)
        return Outcome("Failed", (Error("ConfigurationConflict", _REFUSAL + "\n".join(lines), names),))
    for config, _ in tried:
        assert not objects.apply(config, MANAGER)
    return Outcome("Successful")


def _preserve(objects: Objects, configs: Iterable[Doc]) -> Outcome:
    left: list[str] = []
    for config in configs:
        fields = objects.apply(config, MANAGER)
        if fields:
            again = objects.apply(_without(config, fields), MANAGER)
            assert not again, again
            left += dict.fromkeys(_lines(config, fields))
    return Outcome("Successful", preserved=tuple(left))


_WAYS = {"OVERWRITE": _overwrite, "NONE": _refuse, "PRESERVE": _preserve}


def _lines(config: Doc, fields: Iterable[str]) -> list[str]:
    """``DaemonSet.apps aws-node - .spec.…``, a line for every owner of a field (issue 2150 repeats them so)."""
    group = config["apiVersion"].rpartition("/")[0]
    kind = f"{config['kind']}.{group}" if group else config["kind"]
    return [f"{kind} {config['metadata']['name']} - {field}" for field in fields]


def _without(config: Doc, fields: Iterable[str]) -> Doc:
    """`config` without the fields that a message names: they are looked up among its own fields, as the text alone is
    ambiguous."""
    place = schema_of(config["apiVersion"], config["kind"]).root
    paths = {"".join(map(format_step, path)): path for path in fields_of(config, place)}
    gone: Tree = {}
    for field in fields:
        gone = union(gone, path_tree(paths[field]))
    return dict(without_new_nulls(remove_fields(config, FieldSet(gone), place), {}))


def _document(values: str) -> Doc:
    found = yaml_of(values) if values.strip() else {}
    if not isinstance(found, dict):
        raise ValueError(f"configuration values are not an object: {values}")
    return found
