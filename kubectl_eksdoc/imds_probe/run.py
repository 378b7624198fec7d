"""Result of a metadata fix, and its journal documents.

Belongs here: guards, journal documents, the comparison of live objects with the intended state. Never here: the choice
of fixes (see `imds_probe`), requests, clocks, files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from kubectl_eksdoc.amazon.group_updates import UpdateStage
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import HealthIssue
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.change_journal import ChangePart, PartOutcome
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.knowledge import from_json, to_json
from kubectl_eksdoc.model.machines import Instance, MetadataOptions, NodeGroup
from kubectl_eksdoc.model.metadata import (
    InstanceOptionsChange,
    InstancesFix,
    LaunchTemplateFix,
    MetadataFix,
    NodeClassFix,
)

# State of each part of a fix, by a second read.


HOP_LIMIT = ("spec", "metadataOptions", "httpPutResponseHopLimit")


@frozen
class FixDone:
    """`left`: why the fix stopped early, a clause, "" if it was completed. `update`: EKS's ID of the node group update,
    "" for none; `stage` and `errors` are those of the update, and `number` is the created template version. `nodes`:
    the state of the group's nodes afterwards, `members` their names; `proofs`: results of test pods on them, () without
    any. `changed`: instances or names that this fix has changed and that have the intended state; the rollback applies
    only to them."""

    action: MetadataFix
    seconds: float
    parts: tuple[ChangePart, ...]
    left: str = ""
    number: int = 0
    update: str = ""
    stage: UpdateStage | None = None
    errors: tuple[HealthIssue, ...] = ()
    nodes: tuple[ChangePart, ...] = ()
    members: tuple[str, ...] = ()
    proofs: tuple[ChangePart, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """All parts of the fix were applied."""
        failed = self.stage in (UpdateStage.FAILED, UpdateStage.CANCELLED)
        return not self.left and not failed and not self.parts_with(PartOutcome.AS_BEFORE, PartOutcome.PENDING)

    @property
    def has_deviations(self) -> bool:
        """A part is known to differ from the intended state. A deleted object does not have it either, and its
        replacement was not changed."""
        deviating = self.parts_with(PartOutcome.OTHER, PartOutcome.GONE, PartOutcome.SET_BACK)
        return bool(deviating) or any(each.became is not PartOutcome.DONE for each in self._known_parts())

    @property
    def has_unknowns(self) -> bool:
        """A part is in an unknown state."""
        return any(each.became is PartOutcome.UNKNOWN for each in (*self.parts, *self.nodes, *self.proofs))

    def parts_with(self, *states: PartOutcome) -> tuple[ChangePart, ...]:
        return tuple(part for part in self.parts if part.became in states)

    def _known_parts(self) -> Iterator[ChangePart]:
        """Nodes and pods with a known state."""
        unknown_states = (PartOutcome.UNKNOWN, PartOutcome.GONE)
        return (each for each in (*self.nodes, *self.proofs) if each.became not in unknown_states)


def instance_part(change: InstanceOptionsChange, instance: Instance | Absent | Unknown) -> ChangePart:
    name = f"{change.instance} ({change.node})"
    if isinstance(instance, (Absent, Unknown)):
        return _unread_part(name, instance)
    if instance.state in ("shutting-down", "terminated"):
        return ChangePart(name, PartOutcome.GONE, f"it is {instance.state}")
    options = instance.options
    if options is None:
        return ChangePart(name, PartOutcome.UNKNOWN, "EC2 does not tell its options")
    settled, text = replace(options, pending=False), options_text(options)
    if settled == change.after:
        return (
            ChangePart(name, PartOutcome.PENDING, text) if options.pending else ChangePart(name, PartOutcome.DONE, text)
        )
    if settled == replace(change.before, pending=False):
        return ChangePart(name, PartOutcome.AS_BEFORE, text)
    return ChangePart(name, PartOutcome.OTHER, text)


def _unread_part(name: str, answer: Absent | Unknown) -> ChangePart:
    if isinstance(answer, Absent):
        return ChangePart(name, PartOutcome.GONE, answer.said)
    return ChangePart(name, PartOutcome.UNKNOWN, answer.why)


def options_text(options: MetadataOptions) -> str:
    """``hop limit 2, IMDSv2 required``."""
    tokens = f"IMDSv2 {options.tokens}"
    return f"hop limit {options.hop_limit}, {tokens}{'' if options.endpoint else ', endpoint disabled'}"


def node_group_part(action: LaunchTemplateFix, number: int, now: NodeGroup | Absent | Unknown) -> ChangePart:
    """The template version of the node group."""
    name = f"node group {action.group}"
    if isinstance(now, (Absent, Unknown)):
        return _unread_part(name, now)
    if now.template is None:
        return ChangePart(name, PartOutcome.OTHER, "it has no launch template of its own")
    text = f"version {now.template.version} of launch template {now.template.id or now.template.name}, {now.release}"
    if now.release != (action.release or now.release):
        return ChangePart(name, PartOutcome.OTHER, text)
    if now.template.version == str(number) != "0":
        return ChangePart(name, PartOutcome.DONE, text)
    return ChangePart(
        name, PartOutcome.AS_BEFORE if now.template.version == str(action.source) else PartOutcome.OTHER, text
    )


def stage_by_node_group(node_group: NodeGroup | Absent | Unknown, number: int, last_stage: UpdateStage) -> UpdateStage:
    """Stage of the update without the right to describe updates: a group whose update was in progress at `last_stage`
    and is no longer has the new version, or the update failed."""
    if not isinstance(node_group, NodeGroup):
        return UpdateStage.UNKNOWN
    if node_group.status == "UPDATING":
        return UpdateStage.IN_PROGRESS
    if node_group.template is not None and node_group.template.version == str(number):
        return UpdateStage.SUCCESSFUL if node_group.status == "ACTIVE" else UpdateStage.UNKNOWN
    return UpdateStage.FAILED if last_stage is UpdateStage.IN_PROGRESS else UpdateStage.UNKNOWN


def node_part(node: str, hop_limit: int, instance: Instance | Absent | Unknown) -> ChangePart:
    """State of a node of the group after the fix, by its instance."""
    if not isinstance(instance, Instance):
        return ChangePart(
            node,
            PartOutcome.GONE if isinstance(instance, Absent) else PartOutcome.UNKNOWN,
            getattr(instance, "why", ""),
        )
    if instance.options is None:
        return ChangePart(f"{instance.id} ({node})", PartOutcome.UNKNOWN, "EC2 does not tell its options")
    is_sufficient = (
        instance.options.hop_limit >= hop_limit and instance.options.endpoint and not instance.options.pending
    )
    return ChangePart(
        f"{instance.id} ({node})",
        PartOutcome.DONE if is_sufficient else PartOutcome.AS_BEFORE,
        options_text(instance.options),
    )


def node_class_part(action: NodeClassFix, document: Doc | Absent | Unknown) -> ChangePart:
    name = f"EC2NodeClass {action.name}"
    if isinstance(document, (Absent, Unknown)):
        return _unread_part(name, document)
    limit = nested_field(document, *HOP_LIMIT)
    is_disabled = nested_field(document, *HOP_LIMIT[:-1], "httpEndpoint") == "disabled"
    text = f"hop limit {'not said' if limit is None else limit}{', endpoint disabled' if is_disabled else ''}"
    if limit == action.hop_limit and is_disabled is action.off:
        return ChangePart(name, PartOutcome.DONE, text)
    return ChangePart(
        name,
        PartOutcome.AS_BEFORE if limit == action.before and is_disabled == action.switch else PartOutcome.OTHER,
        text,
    )


def class_patch(action: NodeClassFix, document: Doc) -> Doc:
    """A merge patch of exactly the version of the object that was read."""
    options: Doc = {"httpPutResponseHopLimit": action.hop_limit}
    if action.switch or action.off:
        options["httpEndpoint"] = "disabled" if action.off else "enabled"
    return {
        "metadata": {"resourceVersion": nested_field(document, "metadata", "resourceVersion")},
        "spec": {"metadataOptions": options},
    }


# Rollback of a fix, restricted to its own changes.


def revert_class(action: NodeClassFix, nodes: tuple[str, ...]) -> NodeClassFix:
    """The rollback makes the `nodes` drift again."""
    return NodeClassFix(action.name, action.hop_limit, action.before, nodes, off=action.switch)


def revert_template(action: LaunchTemplateFix, number: int, nodes: tuple[str, ...]) -> LaunchTemplateFix:
    """The rollback from version `number`, which the fix created; EKS replaces the `nodes` of the group again."""
    return replace(action, source=number, before=action.after, nodes=nodes, switch=False, to=action.source)


def revert_instances(
    action: InstancesFix, attempted: Set[str], instances: Mapping[str, Instance | Absent | Unknown]
) -> InstancesFix:
    """`attempted`: instances that the fix may have changed; `instances`: their current state. Instances that another
    client has changed since are left out."""
    changes = (
        InstanceOptionsChange(
            change.node, change.instance, change.after, change.before.hop_limit, change.before.endpoint
        )
        for change in action.each
        if change.instance in attempted
    )
    return InstancesFix(
        tuple(
            change
            for change in changes
            if instance_part(change, instances[change.instance]).became is PartOutcome.AS_BEFORE
        )
    )


# Journal documents of a fix, for a later process that continues or reverts it.


_ACTION_TYPES: Mapping[str, type[InstancesFix | LaunchTemplateFix | NodeClassFix]] = {
    "instances": InstancesFix,
    "template": LaunchTemplateFix,
    "class": NodeClassFix,
}


def to_document(action: MetadataFix) -> Doc:
    """As JSON."""
    action_type = next(name for name, class_ in _ACTION_TYPES.items() if isinstance(action, class_))
    return {"on": action_type, **to_json(action)}


def from_document(document: Doc) -> MetadataFix:
    """Decode the result of `to_document`.

    Raises:
        KeyError, TypeError, ValueError: the document has another form.
    """
    return from_json(_ACTION_TYPES[document["on"]], {key: value for key, value in document.items() if key != "on"})
