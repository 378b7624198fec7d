"""kill -9 at every write of every kind of change: a later process resumes and undoes it from the remaining state.

Each kind is a `Lab`: a cluster and AWS in memory, with functions that begin the change, continue it, and revert it by
its journal alone. The journal is a file; the process is killed before, or after, each of its lines in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest

from kubectl_eksdoc.addon_diff.apply import UPDATE_STEP, AddonUpdate
from kubectl_eksdoc.addon_diff.outcome import AddonRollback
from kubectl_eksdoc.addon_diff.read import PreparedAddonUpdate
from kubectl_eksdoc.changes.engine import ChangeEnvironment, _Journal, execute_change, start_change
from kubectl_eksdoc.coredns_lameduck.apply import CONFIG_MAP_STEP, ConfigMapApply, DnsChange, NewCorefile, ReloadCheck
from kubectl_eksdoc.host.journals import ChangeJournalFile, read_change
from kubectl_eksdoc.imds_probe.run import from_document, revert_class, revert_instances, revert_template, to_document
from kubectl_eksdoc.in_cluster.apply import Placement, Removal
from kubectl_eksdoc.model.api_objects import ApplyConflicts, ApplyResult, Doc
from kubectl_eksdoc.model.change_journal import METADATA_FIX, ChangeState, SavedChange
from kubectl_eksdoc.model.kinds import Absent
from kubectl_eksdoc.model.metadata import InstancesFix, LaunchTemplateFix, MetadataFix, NodeClassFix
from kubectl_eksdoc.model.placement import ObjectNotCreated
from kubectl_eksdoc.probes.command import OwnedPods
from kubectl_eksdoc.probes.pods import CleanupResult
from tests.addon.test_updating import env, incident
from tests.addon.updating import ID, Time
from tests.addon.updating import Case as AddonCase
from tests.changes import fixed

IDENT = "20261120-093000-4f2a"


class Killed(BaseException):
    """The process was killed."""


class Lab(Protocol):
    def begin(self, journal: _Journal) -> None: ...

    def resume(self, saved: SavedChange, journal: _Journal) -> bool:
        """Resume; False: the change was never made, and resuming does not make it either."""
        ...

    def undo(self, saved: SavedChange) -> None: ...

    @property
    def now(self) -> object:
        """The changed state at present."""
        ...

    @property
    def sent(self) -> list[str]:
        """The sent requests: none of them may be sent twice."""
        ...


class Dying:
    """A journal whose process is killed before, or `behind`, its line of that number."""

    def __init__(self, folder: Path, at: int, behind: bool) -> None:
        self._file, self._at, self._behind, self._count = ChangeJournalFile(folder, IDENT), at, behind, 0

    def write(self, entry: Doc) -> None:
        self._count += 1
        if self._count == self._at and not self._behind:
            raise Killed
        self._file.write({"kind": METADATA_FIX, **entry})  # the commands write down which it is; here none is asked
        if self._count == self._at:
            raise Killed


def world(journal: _Journal, time: Time) -> ChangeEnvironment:
    return ChangeEnvironment(journal, time, time.sleep, lambda: 0, lambda line: None, 3600.0)


class Fix:
    """A fix of the metadata service."""

    def __init__(self, act: MetadataFix) -> None:
        self.act, self.case = act, fixed.Case(act)

    def begin(self, journal: _Journal) -> None:
        edges = world(journal, self.case.time)
        begun = {"act": to_document(self.act), "token": fixed.TOKEN}
        start_change(self.case.kind(self.act, fixed.TOKEN, edges), begun, edges)

    def resume(self, saved: SavedChange, journal: _Journal) -> bool:
        edges = world(journal, self.case.time)
        kind = self.case.kind(from_document(saved.first_entry["act"]), saved.first_entry["token"], edges)
        assert execute_change(kind, edges, saved.progress).whole
        return True

    def undo(self, saved: SavedChange) -> None:
        self.case.time.s += 200  # a sent request is in force, from either process
        self.case.classes.dry = 0
        past, aws = saved.progress, self.case.aws
        act = from_document(saved.first_entry["act"])
        back: MetadataFix | None = None
        match act:
            case InstancesFix(each):
                back = revert_instances(act, past.attempted, aws.instances([one.instance for one in each]))
            case LaunchTemplateFix():
                number = int(str(past.answer("version", "number") or 0))
                if "update" in past.attempted and aws.group("own").template == replace(REF, version=str(number)):
                    back = revert_template(act, number, ("n7",))
            case NodeClassFix() if "EC2NodeClass default" in past.attempted:
                back = revert_class(act, ("n0",)) if self.now == 2 else None
        if back is not None and back.nodes:
            edges = world(fixed.Kept(), self.case.time)
            assert start_change(self.case.kind(back, "eksdoc-r-2", edges), {}, edges).whole

    @property
    def now(self) -> object:
        if isinstance(self.act, InstancesFix):
            return [getattr(each, "options").hop_limit for each in self.case.aws.held.values()]  # noqa: B009
        if isinstance(self.act, LaunchTemplateFix):
            return self.case.aws.group("own").template
        assert isinstance(self.case.classes.doc, dict)
        return self.case.classes.doc["spec"]["metadataOptions"]["httpPutResponseHopLimit"]

    @property
    def sent(self) -> list[str]:
        return self.case.aws.asked


REF = fixed.GROUP.template
assert REF is not None


class Addon:
    """An update of an add-on, which resets fields that users have set."""

    def __init__(self) -> None:
        self.case = incident("OVERWRITE", as_asked=True)
        self.ready: PreparedAddonUpdate = self.case.ready()

    def begin(self, journal: _Journal) -> None:
        edges, what = world(journal, self.case.time), self.case.following(self.ready)
        update = AddonUpdate(self.case.call(self.ready), what, self.case.ports(), edges)
        start_change(update, {}, edges)

    def resume(self, saved: SavedChange, journal: _Journal) -> bool:
        ident = saved.progress.answer(UPDATE_STEP, "update") or (ID if self.case.eks.calls else "")  # by EKS's list
        if UPDATE_STEP not in saved.progress.attempted or not ident:
            return False
        edges, what = world(journal, self.case.time), self.case.following(self.ready)
        assert execute_change(AddonUpdate(str(ident), what, self.case.ports(), edges), edges, saved.progress).whole
        return True

    def undo(self, saved: SavedChange) -> None:
        if not self.resume(saved, fixed.Kept()):
            return
        back = self.ready.rollback
        assert isinstance(back, AddonRollback)
        assert AddonCase(self.case.service, back.version, "OVERWRITE", back.values).done().whole

    @property
    def now(self) -> object:
        return self.case.service.version, env(self.case)

    @property
    def sent(self) -> list[str]:
        return [str(call.version) for call in self.case.eks.calls]


@dataclass
class Corefile:
    """The ConfigMap of a CoreDNS that EKS does not manage. Mutable."""

    now: object = "before"
    sent: list[str] = field(default_factory=list)

    def apply(self, doc: Doc, force: bool = False, dry: bool = False) -> ApplyResult | ApplyConflicts:
        self.now = doc["text"]
        self.sent.append(doc["text"])
        return ApplyResult(doc)

    def _change(self, config: Doc | None) -> DnsChange:
        nowhere = ReloadCheck(NewCorefile(), {}, 0.0, None, 0.0, False)  # type: ignore[arg-type]
        return DnsChange(ConfigMapApply(config, False, self), nowhere)

    def begin(self, journal: _Journal) -> None:
        start_change(self._change({"text": "after"}), {}, world(journal, Time()))

    def resume(self, saved: SavedChange, journal: _Journal) -> bool:
        made = CONFIG_MAP_STEP in saved.progress.attempted and self.now == "after"
        return made and execute_change(self._change(None), world(journal, Time())).whole

    def undo(self, saved: SavedChange) -> None:
        if CONFIG_MAP_STEP in saved.progress.attempted and self.now == "after":
            start_change(self._change({"text": "before"}), {}, world(fixed.Kept(), Time()))


@dataclass
class Objects:
    """Objects of a Job in the cluster. Mutable."""

    there_now: dict[str, Doc] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)

    docs = tuple({"kind": kind, "metadata": {"name": "a", "labels": {"mine": "yes"}}} for kind in ("ConfigMap", "Job"))

    def create(self, doc: Doc, dry: bool = False) -> ObjectNotCreated | None:
        if doc["kind"] in self.there_now:
            return ObjectNotCreated("the server answered 409", already_exists=True)
        self.there_now[doc["kind"]] = doc
        self.sent.append(doc["kind"])
        return None

    def there(self, doc: Doc) -> Doc | Absent:
        return self.there_now.get(doc["kind"], Absent("it is not there"))

    def remove(self, doc: Doc) -> ObjectNotCreated | None:
        del self.there_now[doc["kind"]]
        return None

    def begin(self, journal: _Journal) -> None:
        made = Placement(self.docs, self, lambda line: None, "kubectl delete")
        start_change(made, {"objects": list(self.docs)}, world(journal, Time()))

    def resume(self, saved: SavedChange, journal: _Journal) -> bool:
        made = Placement(saved.first_entry["objects"], self, lambda line: None, "kubectl delete", resumed=True)
        return execute_change(made, world(journal, Time()), saved.progress).whole

    def undo(self, saved: SavedChange) -> None:
        removal = Removal(saved.first_entry["objects"], self, lambda line: None, "kubectl delete")
        assert execute_change(removal, world(fixed.Kept(), Time())).whole

    @property
    def now(self) -> object:
        return sorted(self.there_now)


@dataclass
class Pods:
    """Pods of a measurement, which are removed afterwards; the process is killed also while they exist. Mutable."""

    dies: bool = False
    now: object = ""
    sent: list[str] = field(default_factory=list)

    def begin(self, journal: _Journal) -> None:
        def run() -> CleanupResult:
            self.now = "there"
            self.sent.append("pods")
            if self.dies:
                raise Killed
            self.now = ""
            return CleanupResult("eksdoc-1")

        start_change(OwnedPods("eksdoc-1", run), {"owner": "eksdoc-1"}, world(journal, Time()))

    def resume(self, saved: SavedChange, journal: _Journal) -> bool:
        return False

    def undo(self, saved: SavedChange) -> None:
        def removed() -> CleanupResult:
            self.now = ""
            return CleanupResult(saved.text("owner"))

        assert execute_change(OwnedPods(saved.text("owner"), removed), world(fixed.Kept(), Time())).whole


LABS: Mapping[str, Callable[[], Lab]] = {
    "options of instances": lambda: Fix(fixed.instances(3)),
    "launch template": lambda: Fix(fixed.TEMPLATE),
    "node class": lambda: Fix(fixed.CLASS),
    "Corefile": Corefile,
    "objects in the cluster": Objects,
    "pods": Pods,
    "pods that are there": lambda: Pods(dies=True),
    "add-on": Addon,
}


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=pytest.mark.long) if each == "add-on" else each for each in LABS]
)
def test_killed_at_every_write(kind: str, behind: bool, tmp_path: Path) -> None:
    for at in count(1):
        before = LABS[kind]().now
        for verb in ("resume", "undo"):
            lab, folder = LABS[kind](), tmp_path / f"{at}-{verb}"
            try:
                lab.begin(Dying(folder, at, behind))
                assert at > 3, "begun, asking and asked, at least"
                return
            except Killed:
                pass
            if not (folder / f"{IDENT}.jsonl").exists():
                assert lab.now == before and not lab.sent, "what is not written down is not sent"
                continue
            saved = read_change(folder, IDENT)
            assert (
                saved.state is ChangeState.OPEN
                or not saved.progress.attempted
                or (behind and saved.state is ChangeState.DONE)
            )
            if verb == "undo":
                lab.undo(saved)
                assert lab.now == before, (at, saved.entries)
            elif lab.resume(saved, ChangeJournalFile(folder, IDENT)):
                assert lab.now != before and len(lab.sent) == len({*lab.sent}), "nothing is sent twice"
                assert read_change(folder, IDENT).state is ChangeState.DONE
            elif kind != "pods that are there":
                assert lab.now == before, "it was never made"
        if kind == "pods that are there" and at > 2:
            return
