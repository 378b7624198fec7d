"""All that an add-on's update is judged by, of whatever is read: AWS's side, the cluster, and single objects."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import AwsDenied, AwsMissing, SnapshotError, UsageError
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.spelling import maybe
from kubectl_eksdoc.wiring.aws import open_aws
from kubectl_eksdoc.wiring.kept import kept
from kubectl_eksdoc.wiring.sources import Progress, SourceChoice, named, open_reader

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kubectl_eksdoc.aws.believing import Believed
    from kubectl_eksdoc.flows.ports import Histories, Objects
    from kubectl_eksdoc.kube.identity import AwsWanted
    from kubectl_eksdoc.model.api_objects import Doc, Named
    from kubectl_eksdoc.model.aws.addons import AddonPast, AddonSide, UpdateHistory, VersionSide
    from kubectl_eksdoc.model.aws.clusters import EksCluster
    from kubectl_eksdoc.model.aws.configuration import Broken
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.kinds import Resource
    from kubectl_eksdoc.model.terraform import TerraformPlan


_WANTED = "Give a file with JSON or YAML, as aws eks update-addon takes it."
MOST_BYTES = 4 << 20


def read_values(path: str) -> Doc:
    """Configuration values of the file at `path`, which may be written as awscli wants it: ``file://values.json``.

    Raises:
        UsageError: it cannot be read, or holds no such values.
    """
    from kubectl_eksdoc.aws.values import values_of
    from kubectl_eksdoc.host.documents import read_text

    return values_of(read_text(path.removeprefix("file://"), "--configuration-values", MOST_BYTES, _WANTED))


def read_message(given: str) -> str:
    """EKS's message of a conflict, from a file or, with ``-``, from standard input.

    Raises:
        UsageError: it cannot be read.
    """
    from kubectl_eksdoc.host.archives.archive import standard_input
    from kubectl_eksdoc.host.documents import read_text

    if given != "-":
        return read_text(given, "--explain-conflict", MOST_BYTES, _MESSAGE)
    with standard_input() as stream:
        return stream.read(MOST_BYTES).decode("utf-8", "replace")


_MESSAGE = "Give what EKS said: aws eks describe-update prints it (errors[].errorMessage)."


def read_manifest(path: str) -> tuple[Doc, ...]:
    """The documents of a rendered manifest, from a file or from the YAML and JSON files of a folder.

    Raises:
        UsageError: it cannot be read.
    """
    from kubectl_eksdoc.host.documents import read_text, yaml_as_go_reads_it

    folder, wanted = Path(path), "Give what helm template prints of the add-on's chart, or its published manifest."
    files = sorted(each for each in folder.glob("*") if each.suffix in _MANIFESTS) if folder.is_dir() else [folder]
    docs: list[Doc] = []
    for file in files:
        for part in re.split(r"(?m)^---.*$", read_text(str(file), "--manifest", MOST_BYTES, wanted)):
            try:
                found = yaml_as_go_reads_it(part.encode())
            except ValueError as error:
                raise UsageError(f"--manifest {file} is no YAML: {error}", wanted) from error
            items = found.get("items") if isinstance(found, dict) and found.get("kind") == "List" else [found]
            docs += [each for each in (items if isinstance(items, list) else []) if isinstance(each, dict)]
    return tuple(docs)


_MANIFESTS = (".yaml", ".yml", ".json")


def read_terraform(path: str) -> TerraformPlan:
    """As `host.terraform_plan.read_terraform_plan`."""
    from kubectl_eksdoc.host.terraform.plan import read_terraform_plan

    return read_terraform_plan(path)


def values_in(text: str) -> Doc:
    """Configuration values that were written down as text. Raises ValuesError."""
    from kubectl_eksdoc.aws.values import values_of

    return values_of(text)


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read of the cluster itself: lists of `kinds`, and `objects` by their names; of `histories`, documents are
    kept."""

    kinds: Sequence[Resource]
    objects: Collection[Named]
    histories: Collection[Resource] = ()


@dataclass(frozen=True, slots=True)
class AddonWorld:
    """The cluster as it was read, and what more can be asked."""

    cluster: Cluster
    objects: Objects
    aws: Believed
    histories: Histories

    @property
    def recognised(self) -> str:
        """How it is known that AWS describes the cluster that was read, a clause."""
        return self.aws.by

    @property
    def calls(self) -> str:
        """What was sent to AWS so far, "" where nothing is."""
        return str(getattr(self.aws.aws, "said", ""))

    @property
    def denied(self) -> tuple[str, ...]:
        """The actions of IAM that AWS has refused so far, sorted."""
        return tuple(getattr(self.aws.aws, "denied", ()))

    @property
    def eks(self) -> EksCluster:
        return self.aws.cluster

    def names(self) -> tuple[str, ...]:
        """Of the add-ons that EKS manages, sorted.

        Raises:
            AwsDenied: they may not be listed.
        """
        from kubectl_eksdoc.aws import eks

        found = eks.addon_names(self.aws)
        if isinstance(found, Unknown):
            raise AwsDenied(found.why, "", found.missing)
        return found

    @staticmethod
    def judge(schema: Doc, values: Doc) -> tuple[Broken, ...] | Unknown:
        """As `aws.validating.broken`."""
        from kubectl_eksdoc.aws.validating import broken

        return broken(schema, values)

    def side(self, name: str, wish: str | None) -> AddonSide:
        """As `aws.addon_side.addon_side`, and of a name that is none it says which comes close."""
        from kubectl_eksdoc.aws.addon_side import addon_side

        try:
            return addon_side(self.aws, name, wish)
        except AwsMissing as error:
            raise self._with_what_comes_close(name, error) from None

    def installed_side(self, name: str) -> AddonSide | Absent | Unknown:
        """As `aws.addon_side.installed_side`."""
        from kubectl_eksdoc.aws.addon_side import installed_side

        return installed_side(self.aws, name)

    def creation_side(self, name: str, wish: str) -> AddonSide:
        """As `aws.addon_side.creation_side`."""
        from kubectl_eksdoc.aws.addon_side import creation_side

        return creation_side(self.aws, name, wish)

    @staticmethod
    def values(text: str) -> Doc:
        """As `aws.values.values_of`."""
        from kubectl_eksdoc.aws.values import values_of

        return values_of(text)

    def updates(self, name: str) -> UpdateHistory | Unknown | Absent:
        """As `aws.eks.updates_of_addon`."""
        from kubectl_eksdoc.aws.eks import updates_of_addon

        return updates_of_addon(self.aws, name)

    def past(self, name: str, update: str) -> AddonPast:
        """As `aws.addon_past.addon_past`, and of a name that is none as `side`."""
        from kubectl_eksdoc.aws.addon_past import addon_past

        try:
            return addon_past(self.aws, name, update)
        except AwsMissing as error:
            raise self._with_what_comes_close(name, error) from None

    def _with_what_comes_close(self, name: str, error: AwsMissing) -> AwsMissing:
        from kubectl_eksdoc.aws import eks

        known = eks.addon_names(self.aws)
        return error if isinstance(known, Unknown) else AwsMissing(f"{error.message}{maybe(name, known)}", error.hint)

    @staticmethod
    def chart(name: str, version: str) -> Doc | Unknown:
        """As `aws.charts.chart_defaults`."""
        from kubectl_eksdoc.aws.charts import chart_defaults

        return chart_defaults(name, version)

    def versions(self, name: str, versions: Sequence[str]) -> tuple[VersionSide, ...]:
        """In their order; one question each, two at a time."""
        from kubectl_eksdoc.aws.addon_side import version_side
        from kubectl_eksdoc.aws.asking import at_once

        found = dict(at_once(dict.fromkeys(versions), lambda version: version_side(self.aws, name, version)))
        return tuple(found[version] for version in versions)


def open_addons(
    source: SourceChoice, connection: Connection, wanted: AwsWanted, progress: Progress | None, reading: Reading
) -> AddonWorld:
    """
    Raises:
        ConfigError, ClusterError: the cluster cannot be read.
        SnapshotError: the snapshot cannot be, or holds nothing of AWS.
        UsageError, AwsError: as `wiring.aws.open_aws`.
    """
    held = kept(source, "addon-diff")
    aws = held.aws() if held is not None else open_aws(source, connection, wanted)
    if isinstance(aws, Unknown):
        raise SnapshotError(
            f"{aws.why}, and an add-on's update cannot be judged without them",
            "Ask the live cluster, or a snapshot that was made with kubectl eksdoc snapshot.",
        )
    if held is not None:
        beside = held.beside()
        return AddonWorld(named(held.reader(progress).read(reading.kinds), aws, wanted), beside, aws, beside)
    opened = _opened(source, connection, progress, reading, aws)
    return replace(opened, cluster=named(opened.cluster, aws, wanted))


def _opened(
    source: SourceChoice, connection: Connection, progress: Progress | None, reading: Reading, aws: Believed
) -> AddonWorld:
    if source.live:
        from kubectl_eksdoc.kube.single_objects import NamespaceLists, SingleObjects

        cluster = open_reader(source, connection, progress).read(reading.kinds)
        return AddonWorld(cluster, SingleObjects(connection), aws, NamespaceLists(connection))
    from kubectl_eksdoc.objects.held import HeldObjects

    held = HeldObjects(reading.objects, f"the snapshot {source.snapshot}", reading.histories)
    kinds = tuple(dict.fromkeys((*reading.kinds, *held.resources)))
    cluster = open_reader(source, connection, progress, raw=held).read(kinds)
    return AddonWorld(cluster, held, aws, held)
