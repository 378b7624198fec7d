"""Carry out UpdateAddon of the AWS stand-in on a cluster; DescribeUpdate then reports how the update ended.

``aws.eks().carry_out = carried_out(aws.eks(), service)``: from then on an update of the add-on has ended when the call
that began it returns. The state of `service` is not read from the AWS stand-in: create the add-on there with the same.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.addon.stand_in.service import AddonService
from tests.aws.world.eks_state import EksState, Update


def carried_out(eks: EksState, service: AddonService, addon: str = "vpc-cni") -> Callable[[Update], None]:
    """A function for `EksState.carry_out`. An update of anything else than the add-on stays in progress."""

    def carry_out(update: Update) -> None:
        if update.addon != addon:
            return
        asked = {param["type"]: param["value"] for param in update.params}
        outcome = service.update(
            asked.get("AddonVersion", ""),
            resolve_conflicts=asked.get("ResolveConflicts", "NONE"),  # type: ignore[arg-type]
            configuration_values=asked.get("ConfigurationValues"),
        )
        if outcome.status == "Successful":
            eks.finish(update.id)
        for error in outcome.errors:
            eks.fail(update.id, error.code, error.message, *error.resources)

    return carry_out
