"""What if the next nodes had other metadata options: who would be affected, before it is so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model import metadata_codes as codes
from kubectl_eksdoc.core.model.aws.machines import Image, MetadataOptions, NodeGroup, SaidOptions
from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.core.model.nodes import NodeOwner
from kubectl_eksdoc.core.plan.metadata.affected import AffectedPod, Effect
from kubectl_eksdoc.core.plan.pod_owner import owner_of
from kubectl_eksdoc.core.rules.metadata_service import REQUIRED, of_group_by_eks

AL2023 = "AL2023"
_MOST, _NAMED = 5, 3


@dataclass(frozen=True, slots=True)
class Assumed:
    """`hops` and `tokens` of every next instance, None and "" where they stay; `image`: `AL2023`, or "" for none."""

    hops: int | None = None
    tokens: str = ""
    image: str = ""

    def __str__(self) -> str:
        """As the flag takes it."""
        given = (("hops", self.hops), ("tokens", self.tokens), ("ami", self.image))
        return ",".join(f"{name}={value}" for name, value in given if value)

    def options(self, without: object) -> MetadataOptions:
        """`without`: what it would be else. What is not known there, and not assumed, is the stricter."""
        base = without if isinstance(without, MetadataOptions) else MetadataOptions(REQUIRED, 2)
        hops = base.hop_limit if self.hops is None else self.hops
        return replace(base, tokens=self.tokens or base.tokens, hop_limit=hops, pending=False)

    def ami_type(self, of: str) -> str:
        """Of a managed node group that has now the type `of`."""
        return f"AL2023_{of.partition('_')[2]}" if self.image and of.startswith("AL2_") else of

    def of_image(self, image: Image) -> Image:
        return replace(image, v2=True) if self.image else image


def successor_of(group: object) -> SaidOptions | None:
    """What EKS gives the nodes of an AL2023 node group in the place of one of AL2 that has no template of its own."""
    if not isinstance(group, NodeGroup) or group.template is not None or not group.ami_type.startswith("AL2_"):
        return None
    said = of_group_by_eks(Assumed(image=AL2023).ami_type(group.ami_type))
    return said if isinstance(said, SaidOptions) else None


def of_successor(owner: NodeOwner, name: str, affected: Sequence[AffectedPod]) -> Iterator[Finding]:
    """Of the pods of a node group of AL2 that an AL2023 group in its place would cut off."""
    if owner is not NodeOwner.MANAGED:
        return
    sure = [each for each in affected if each.effect in (Effect.WILL_BREAK, Effect.BROKEN)]
    open_ones = [each for each in affected if each.effect is Effect.POSSIBLE]
    if not sure and not open_ones:
        return
    named = sorted({str(owner_of(each.pod)) for each in (sure or open_ones)})
    whose = ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")
    reasons = sorted({f"{owner_of(each.pod).kind} {owner_of(each.pod)}: {each.why}" for each in (sure or open_ones)})
    more = len(reasons) - _MOST
    count = len(sure or open_ones)
    yield Finding(
        codes.SUCCESSOR,
        Severity.HIGH if sure else Severity.LOW,
        Status.FAIL if sure else Status.UNKNOWN,
        Subject("NodeGroup", name),
        f"an AL2023 node group in its place comes with hop limit 1 and IMDSv2 required: {count} "
        f"pod{'' if count == 1 else 's'} {'would break' if sure else 'may need it'} there ({whose})",
        (*reasons[:_MOST], *([f"and {more} more"] if more > 0 else [])),
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
