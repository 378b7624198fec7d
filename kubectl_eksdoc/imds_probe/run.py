"""A fix of the metadata service that is carried out: what must be so before, what is kept of it, what came of it.

Belongs here: guards, documents of a journal, what is read again against what was meant.
Never here: which fixes exist (that is `imds_probe`), a request, a clock, a file.
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

# What became of each part of a fix, by what is read again.


HOP_LIMIT = ("spec", "metadataOptions", "httpPutResponseHopLimit")


@frozen
class FixDone:
    """`left`: why nothing more was done though there is something left, a clause, "" where it came to its end.
    `update`: EKS's own id of the update of a node group, "" where there is none; `stage` and `errors` are of it, and
    `number` is the template's version that was made. `nodes`: what the nodes of the group have afterwards,
    `members` their names; `proofs`: what pods on them find, () where no pod was asked. `changed`: what this fix has
    changed itself and is as it was meant to be, by its instance or name: to that alone the rollback applies."""

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
        """All of it was carried out."""
        failed = self.stage in (Stage.FAILED, Stage.CANCELLED)
        return not self.left and not failed and not self.of(Became.AS_BEFORE, Became.PENDING)

    @property
    def differs(self) -> bool:
        """Something is known to be other than it was meant to be; what is gone has not become it either, and what came
        in its place was not changed."""
        other = self.of(Became.OTHER, Became.GONE, Became.SET_BACK)
        return bool(other) or any(each.became is not Became.DONE for each in self._seen())

    @property
    def lacks(self) -> bool:
        """Something is not known."""
        return any(each.became is Became.UNKNOWN for each in (*self.parts, *self.nodes, *self.proofs))

    def of(self, *became: Became) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.became in became)

    def _seen(self) -> Iterator[Part]:
        """Nodes and pods of which something is known."""
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
    """Which version of its template it is at."""
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
    """How its update stands, for those who may not describe updates: a group that was `seen` in progress and is no
    more has got the new version, or has not."""
    if not isinstance(now, NodeGroup):
        return Stage.UNKNOWN
    if now.status == "UPDATING":
        return Stage.IN_PROGRESS
    if now.template is not None and now.template.version == str(number):
        return Stage.SUCCESSFUL if now.status == "ACTIVE" else Stage.UNKNOWN
    return Stage.FAILED if seen is Stage.IN_PROGRESS else Stage.UNKNOWN


def of_node(node: str, hop_limit: int, now: Instance | Absent | Unknown) -> Part:
    """A node of the group afterwards, by its instance."""
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
    """A merge patch of exactly the object that was read."""
    options: Doc = {"httpPutResponseHopLimit": act.hop_limit}
    if act.switch or act.off:
        options["httpEndpoint"] = "disabled" if act.off else "enabled"
    return {
        "metadata": {"resourceVersion": at(now, "metadata", "resourceVersion")},
        "spec": {"metadataOptions": options},
    }


# What reverts a fix, of that alone which it has changed.


def class_reverting(act: OnClass, nodes: tuple[str, ...]) -> OnClass:
    """`nodes` drift with it now."""
    return OnClass(act.name, act.hop_limit, act.before, nodes, off=act.switch)


def group_reverting(act: OnTemplate, number: int, nodes: tuple[str, ...]) -> OnTemplate:
    """From version `number`, which the fix has made; EKS replaces the `nodes` of the group again."""
    return replace(act, source=number, before=act.after, nodes=nodes, switch=False, to=act.source)


def reverting(act: OnInstances, tried: Set[str], now: Mapping[str, Instance | Absent | Unknown]) -> OnInstances:
    """`tried`: what the fix may have changed; `now`: its instances. What another client has changed since is left
    out."""
    each = (
        SetOptions(one.node, one.instance, one.after, one.before.hop_limit, one.before.endpoint)
        for one in act.each
        if one.instance in tried
    )
    return OnInstances(tuple(one for one in each if of_instance(one, now[one.instance]).became is Became.AS_BEFORE))


# What is done, as a journal keeps it: so that who comes later can go on with it, or go back.


_ON: Mapping[str, type[OnInstances | OnTemplate | OnClass]] = {
    "instances": OnInstances,
    "template": OnTemplate,
    "class": OnClass,
}


def to_doc(act: Act) -> Doc:
    """As JSON has it."""
    on = next(name for name, of in _ON.items() if isinstance(act, of))
    return {"on": on, **told_of(act)}


def from_doc(doc: Doc) -> Act:
    """
    Raises:
        KeyError, TypeError, ValueError: it is none of `to_doc`.
    """
    return made(_ON[doc["on"]], {key: value for key, value in doc.items() if key != "on"})
