"""The AL2023 node group that comes after a managed one of AL2, and whom it cuts off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.core.model import metadata_codes as codes
from kubectl_eksdoc.core.model.aws.machines import MetadataOptions, NodeGroup, SaidOptions
from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.core.model.nodes import NodeOwner
from kubectl_eksdoc.core.model.pods import pod_count
from kubectl_eksdoc.core.plan.metadata.affected import AffectedPod, Effect, cut_off
from kubectl_eksdoc.core.plan.metadata.assumed import AL2023, Assumed
from kubectl_eksdoc.core.plan.metadata.facts import MetadataFacts
from kubectl_eksdoc.core.plan.metadata.groups import NodesAlike
from kubectl_eksdoc.core.plan.metadata.judging import reasons, some
from kubectl_eksdoc.core.plan.pod_owner import owner_of
from kubectl_eksdoc.core.rules.metadata_service import Verdict, of_group_by_eks, verdict

_NAMED = 3


def on_successor(alike: NodesAlike, facts: MetadataFacts, hops: int) -> Verdict | None:
    """What pods find there; None where none is known to come, or where that is nothing new to them."""
    group = facts.told.node_groups.get(alike.name) if alike.owner is NodeOwner.MANAGED else None
    if not isinstance(group, NodeGroup) or group.template is not None or not group.ami_type.startswith("AL2_"):
        return None
    said = of_group_by_eks(Assumed(image=AL2023).ami_type(group.ami_type))
    if facts.assumed is not None or cut_off(alike.here, alike.later) or not isinstance(said, SaidOptions):
        return None
    found = verdict(MetadataOptions(said.tokens, said.hop_limit or 1), hops)
    return found if cut_off(found) else None


def judged_successor(name: str, affected: Sequence[AffectedPod]) -> Iterator[Finding]:
    """Of the node group of that name, and those of its pods that are affected there."""
    sure = [each for each in affected if each.effect in (Effect.WILL_BREAK, Effect.BROKEN)]
    found = sure or [each for each in affected if each.effect is Effect.POSSIBLE]
    if not found:
        return
    named = sorted({str(owner_of(each.pod)) for each in found})
    whose = ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")
    yield Finding(
        codes.SUCCESSOR,
        Severity.HIGH if sure else Severity.LOW,
        Status.FAIL if sure else Status.UNKNOWN,
        Subject("NodeGroup", name),
        "an AL2023 node group in its place comes with hop limit 1 and IMDSv2 required: "
        f"{pod_count(len(found))} {'would break' if sure else 'may need it'} there ({whose})",
        tuple(some(reasons(found))),
        (
            Remedy(
                "Give them a role of their own, a region and a VPC before you move to AL2023, or set the hop limit of "
                "the new group to 2 in a launch template of your own.",
                shell("kubectl", "eksdoc", "imds-probe", "--nodegroup", name, "--assume", f"ami={AL2023}"),
                When.TOMORROW,
            ),
        ),
        "" if sure else "what they ask the service for",
    )
