"""Result of a metadata fix, and its journal documents.

Belongs here: guards, journal documents, the comparison of live objects with the intended state. Never here: the choice
of fixes (see `imds_probe`), requests, clocks, files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from kubectl_eksdoc.amazon.group_updates import Stage
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import Issue
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.change_journal import Became, Part
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.knowledge import made, told_of
from kubectl_eksdoc.model.machines import Instance, MetadataOptions, NodeGroup
from kubectl_eksdoc.model.metadata import Act, OnClass, OnInstances, OnTemplate, SetOptions

# State of each part of a fix, by a second read.


HOP_LIMIT = ("spec", "metadataOptions", "httpPutResponseHopLimit")


@frozen
class FixDone:
    """`left`: why the fix stopped early, a clause, "" if it was completed. `update`: EKS's ID of the node group update,
    "" for none; `stage` and `errors` are those of the update, and `number` is the created template version. `nodes`:
    the state of the group's nodes afterwards, `members` their names; `proofs`: results of test pods on them, () without
    any. `changed`: instances or names that this fix has changed and that have the intended state; the rollback applies
    only to them."""

    act: Act
    seconds: float
    parts: tuple[Part, ...]
    left: str = ""
    number: int = 0
    update: str = ""
    stage: Stage | None = None
    errors: tuple[Issue, ...] = ()
    nodes: tuple[Part, ...] = ()
    members: tuple[str, ...] = ()
    proofs: tuple[Part, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """All parts of the fix were applied."""
        failed = self.stage in (Stage.FAILED, Stage.CANCELLED)
        return not self.left and not failed and not self.of(Became.AS_BEFORE, Became.PENDING)

    @property
    def differs(self) -> bool:
        """A part is known to differ from the intended state. A deleted object does not have it either, and its
        replacement was not changed."""
        other = self.of(Became.OTHER, Became.GONE, Became.SET_BACK)
        return bool(other) or any(each.became is not Became.DONE for each in self._seen())

    @property
    def lacks(self) -> bool:
        """A part is in an unknown state."""
        return any(each.became is Became.UNKNOWN for each in (*self.parts, *self.nodes, *self.proofs))

    def of(self, *became: Became) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.became in became)

    def _seen(self) -> Iterator[Part]:
        """Nodes and pods with a known state."""
        unseen = (Became.UNKNOWN, Became.GONE)
        return (each for each in (*self.nodes, *self.proofs) if each.became not in unseen)


def of_instance(act: SetOptions, now: Instance | Absent | Unknown) -> Part:
    what = f"{act.instance} ({act.node})"
    if isinstance(now, (Absent, Unknown)):
        return _not_read(what, now)
    if now.state in ("shutting-down", "terminated"):
        return Part(what, Became.GONE, f"it is {now.state}")
    options = now.options
    if options is None:
        return Part(what, Became.UNKNOWN, "EC2 does not tell its options")
    settled, told = replace(options, pending=False), words(options)
    if settled == act.after:
        return Part(what, Became.PENDING, told) if options.pending else Part(what, Became.DONE, told)
    if settled == replace(act.before, pending=False):
        return Part(what, Became.AS_BEFORE, told)
    return Part(what, Became.OTHER, told)


def _not_read(what: str, now: Absent | Unknown) -> Part:
    if isinstance(now, Absent):
        return Part(what, Became.GONE, now.said)
    return Part(what, Became.UNKNOWN, now.why)


def words(options: MetadataOptions) -> str:
    """``hop limit 2, IMDSv2 required``."""
    tokens = f"IMDSv2 {options.tokens}"
    return f"hop limit {options.hop_limit}, {tokens}{'' if options.endpoint else ', endpoint disabled'}"


def of_group(act: OnTemplate, number: int, now: NodeGroup | Absent | Unknown) -> Part:
    """The template version of the node group."""
    what = f"node group {act.group}"
    if isinstance(now, (Absent, Unknown)):
        return _not_read(what, now)
    if now.template is None:
        return Part(what, Became.OTHER, "it has no launch template of its own")
    told = f"version {now.template.version} of launch template {now.template.id or now.template.name}, {now.release}"
    if now.release != (act.release or now.release):
        return Part(what, Became.OTHER, told)
    if now.template.version == str(number) != "0":
        return Part(what, Became.DONE, told)
    return Part(what, Became.AS_BEFORE if now.template.version == str(act.source) else Became.OTHER, told)


def stage_by_group(now: NodeGroup | Absent | Unknown, number: int, seen: Stage) -> Stage:
    """Stage of the update without the right to describe updates: a group whose update was in progress at `last_stage`
    and is no longer has the new version, or the update failed."""
    if not isinstance(now, NodeGroup):
        return Stage.UNKNOWN
    if now.status == "UPDATING":
        return Stage.IN_PROGRESS
    if now.template is not None and now.template.version == str(number):
        return Stage.SUCCESSFUL if now.status == "ACTIVE" else Stage.UNKNOWN
    return Stage.FAILED if seen is Stage.IN_PROGRESS else Stage.UNKNOWN


def of_node(node: str, hop_limit: int, now: Instance | Absent | Unknown) -> Part:
    """State of a node of the group after the fix, by its instance."""
    if not isinstance(now, Instance):
        return Part(node, Became.GONE if isinstance(now, Absent) else Became.UNKNOWN, getattr(now, "why", ""))
    if now.options is None:
        return Part(f"{now.id} ({node})", Became.UNKNOWN, "EC2 does not tell its options")
    enough = now.options.hop_limit >= hop_limit and now.options.endpoint and not now.options.pending
    return Part(f"{now.id} ({node})", Became.DONE if enough else Became.AS_BEFORE, words(now.options))


def of_class(act: OnClass, now: Doc | Absent | Unknown) -> Part:
    what = f"EC2NodeClass {act.name}"
    if isinstance(now, (Absent, Unknown)):
        return _not_read(what, now)
    limit = at(now, *HOP_LIMIT)
    off = at(now, *HOP_LIMIT[:-1], "httpEndpoint") == "disabled"
    told = f"hop limit {'not said' if limit is None else limit}{', endpoint disabled' if off else ''}"
    if limit == act.hop_limit and off is act.off:
        return Part(what, Became.DONE, told)
    return Part(what, Became.AS_BEFORE if limit == act.before and off == act.switch else Became.OTHER, told)


def class_patch(act: OnClass, now: Doc) -> Doc:
    """A merge patch of exactly the version of the object that was read."""
    options: Doc = {"httpPutResponseHopLimit": act.hop_limit}
    if act.switch or act.off:
        options["httpEndpoint"] = "disabled" if act.off else "enabled"
    return {
        "metadata": {"resourceVersion": at(now, "metadata", "resourceVersion")},
        "spec": {"metadataOptions": options},
    }


# Rollback of a fix, restricted to its own changes.


def class_reverting(act: OnClass, nodes: tuple[str, ...]) -> OnClass:
    """The rollback makes the `nodes` drift again."""
    return OnClass(act.name, act.hop_limit, act.before, nodes, off=act.switch)


def group_reverting(act: OnTemplate, number: int, nodes: tuple[str, ...]) -> OnTemplate:
    """The rollback from version `number`, which the fix created; EKS replaces the `nodes` of the group again."""
    return replace(act, source=number, before=act.after, nodes=nodes, switch=False, to=act.source)


def reverting(act: OnInstances, tried: Set[str], now: Mapping[str, Instance | Absent | Unknown]) -> OnInstances:
    """`attempted`: instances that the fix may have changed; `instances`: their current state. Instances that another
    client has changed since are left out."""
    each = (
        SetOptions(one.node, one.instance, one.after, one.before.hop_limit, one.before.endpoint)
        for one in act.each
        if one.instance in tried
    )
    return OnInstances(tuple(one for one in each if of_instance(one, now[one.instance]).became is Became.AS_BEFORE))


# Journal documents of a fix, for a later process that continues or reverts it.


_ON: Mapping[str, type[OnInstances | OnTemplate | OnClass]] = {
    "instances": OnInstances,
    "template": OnTemplate,
    "class": OnClass,
}


def to_doc(act: Act) -> Doc:
    """As JSON."""
    on = next(name for name, of in _ON.items() if isinstance(act, of))
    return {"on": on, **told_of(act)}


def from_doc(doc: Doc) -> Act:
    """Decode the result of `to_document`.

    Raises:
        KeyError, TypeError, ValueError: the document has another form.
    """
    return made(_ON[doc["on"]], {key: value for key, value in doc.items() if key != "on"})
