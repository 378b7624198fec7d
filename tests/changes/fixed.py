"""AWS and a cluster in memory, in virtual time, on which fixes are carried out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from kubectl_eksdoc.changes.engine import ChangeEnvironment, ChangeKind, execute_change, start_change
from kubectl_eksdoc.errors import Drifted, JournalError
from kubectl_eksdoc.imds_probe.apply import FixPorts, build_fix
from kubectl_eksdoc.imds_probe.run import FixDone, from_document, to_document
from kubectl_eksdoc.model.addons import EksAddonUpdate, HealthIssue
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import ChangeProgress, progress_of
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions, Instance, MetadataOptions, NodeGroup, TemplateRef
from kubectl_eksdoc.model.metadata import (
    InstanceOptionsChange,
    InstancesFix,
    LaunchTemplateFix,
    MetadataFix,
    NodeClassFix,
)
from tests.addon.updating import Time

ONE, TWO = MetadataOptions("required", 1), MetadataOptions("required", 2)
TOKEN = "eksdoc-r-1"
TEMPLATE = LaunchTemplateFix(
    "own", "lt-1", 3, DeclaredMetadataOptions("required", 1), 2, "1.30", "1.30.0-20261101", ("n0", "n1")
)
GROUP = NodeGroup("own", release="1.30.0-20261101", status="ACTIVE", template=TemplateRef("lt-1", "own", "3"))
CLASS = NodeClassFix("default", 1, 2, ("n0",))


def ident(number: int) -> str:
    return f"i-{number:08x}"


def instances(count: int) -> InstancesFix:
    return InstancesFix(tuple(InstanceOptionsChange(f"n{at}", ident(at), ONE, 2) for at in range(count)))


@dataclass
class FakeAws:
    """A `MetadataAws`; a change takes effect `takes_s` after the request. `before`: actions before each changing call,
    by its number. Mutable."""

    time: Time
    held: dict[str, Instance | Absent | Unknown] = field(default_factory=dict)
    takes_s: float = 3.0
    before: Callable[[int], object] = lambda number: None
    asked: list[str] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)
    updates: dict[str, tuple[str, int, float]] = field(default_factory=dict)
    node_group: NodeGroup = NodeGroup(
        "own", release="1.30.0-20261101", status="ACTIVE", template=TemplateRef("lt-1", "own", "3")
    )
    fails: tuple[HealthIssue, ...] = ()
    may_describe: bool = True
    applied: dict[str, float] = field(default_factory=dict)

    def instances(self, ids: Sequence[str]) -> Mapping[str, Instance | Absent | Unknown]:
        return {each: self._settled(each) for each in ids}

    def _settled(self, ident: str) -> Instance | Absent | Unknown:
        held = self.held[ident]
        options = held.options if isinstance(held, Instance) else None
        if options is None or not options.pending or self.time.s - self.applied[ident] < self.takes_s:
            return held
        assert isinstance(held, Instance)
        self.held[ident] = replace(held, options=replace(options, pending=False))
        return self.held[ident]

    def set_options(self, act: InstanceOptionsChange, dry: bool = False) -> None:
        self.before(len(self.asked))
        if dry:
            return
        self.asked.append(act.instance)
        held = self.held[act.instance]
        assert isinstance(held, Instance)
        self.held[act.instance] = replace(held, options=replace(act.after, pending=True))
        self.applied[act.instance] = self.time.s

    def group(self, name: str) -> NodeGroup:
        self._go_on()
        return self.node_group

    def new_version(self, act: LaunchTemplateFix, token: str, dry: bool = False) -> int:
        self.before(len(self.asked))
        self.asked.append("version")
        self.versions.setdefault(token, 4 + len(self.versions))
        return self.versions[token]

    def version_of(self, act: LaunchTemplateFix, token: str) -> int | Unknown:
        return self.versions.get(token, 0)

    def update_group(self, act: LaunchTemplateFix, number: int, token: str) -> EksAddonUpdate:
        self.before(len(self.asked))
        self.asked.append("update")
        self.updates.setdefault(token, (f"u-{len(self.updates)}", number, self.time.s))
        self.node_group = replace(self.node_group, status="UPDATING")
        return EksAddonUpdate(self.updates[token][0], "VersionUpdate", "InProgress")

    def update_to(self, act: LaunchTemplateFix, number: int) -> str | Unknown:
        return next((ident for ident, made, _ in self.updates.values() if made == number), "")

    def update(self, group: str, ident: str) -> EksAddonUpdate | Unknown | Absent:
        self._go_on()
        if not self.may_describe:
            return Unknown("IAM does not allow it", "eks:DescribeUpdate")
        status = "InProgress" if self.node_group.status == "UPDATING" else "Failed" if self.fails else "Successful"
        return EksAddonUpdate(ident, "VersionUpdate", status, errors=self.fails if status == "Failed" else ())

    def _go_on(self) -> None:
        for _, number, began_s in [*self.updates.values()][-1:]:
            if self.time.s - began_s >= 100:
                self.node_group = replace(self.node_group, status="ACTIVE")
                if not self.fails:
                    ref = TemplateRef("lt-1", "own", str(number))
                    self.node_group = replace(self.node_group, template=ref)


@dataclass
class FakeClasses:
    """A `NodeClasses` of one object. `before`: an action before a patch that is no dry run. Mutable."""

    doc: Doc | Absent | Unknown = field(default_factory=lambda: a_class(1))
    before: Callable[[], object] = lambda: None
    dry: int = 0

    def one(self, name: str) -> Doc | Absent | Unknown:
        return deepcopy(self.doc)

    def patch(self, name: str, body: Doc, dry: bool = False) -> Doc:
        assert isinstance(self.doc, dict)
        if dry:
            self.dry += 1
            return self.doc
        assert self.dry, "the server was asked first"
        self.before()
        meta = self.doc["metadata"]
        if body["metadata"]["resourceVersion"] != meta["resourceVersion"]:
            raise Drifted("the object has been modified")
        self.doc["spec"]["metadataOptions"] |= body["spec"]["metadataOptions"]
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        return self.doc


def a_class(hop_limit: int) -> Doc:
    options = {"httpTokens": "required", "httpPutResponseHopLimit": hop_limit}
    return {"metadata": {"name": "default", "resourceVersion": "7"}, "spec": {"metadataOptions": options}}


@dataclass
class Kept:
    """A `changes.engine._Journal` in memory; `full`: after so many entries it keeps no more. Mutable."""

    entries: list[Doc] = field(default_factory=list)
    full: int = 1_000_000

    def write(self, entry: Doc) -> None:
        if len(self.entries) >= self.full:
            raise JournalError("no space left")
        self.entries.append(json.loads(json.dumps(entry)))

    @property
    def past(self) -> ChangeProgress:
        return progress_of(self.entries)


@dataclass
class Case:
    """A fix and everything it needs. Mutable."""

    act: MetadataFix
    time: Time = field(default_factory=Time)
    told: int = 0
    members: Mapping[str, Instance | Absent | Unknown] | Unknown = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.aws = FakeAws(self.time)
        if isinstance(self.act, InstancesFix):
            self.aws.held = {
                each.instance: Instance(each.instance, state="running", options=each.before) for each in self.act.each
            }
        self.classes = FakeClasses()
        self.journal = Kept()
        self.lines: list[str] = []

    def world(self, watch_s: float = 3600.0) -> ChangeEnvironment:
        return ChangeEnvironment(
            self.journal, self.time, self.time.sleep, lambda: self.told, self.lines.append, watch_s
        )

    def kind(self, act: MetadataFix, token: str, world: ChangeEnvironment) -> ChangeKind[FixDone]:
        return build_fix(act, token, FixPorts(self.aws, self.classes, lambda group: self.members), world)

    def done(self, watch_s: float = 3600.0) -> FixDone:
        world = self.world(watch_s)
        begun = {"run": "r-1", "act": to_document(self.act), "token": TOKEN}
        return start_change(self.kind(self.act, TOKEN, world), begun, world)

    def resumed(self) -> FixDone:
        """The change as it is resumed from the journal alone."""
        begun, world = self.journal.entries[0], self.world()
        return execute_change(self.kind(from_document(begun["act"]), begun["token"], world), world, self.journal.past)
