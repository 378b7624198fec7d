"""The rights of ``check``: its own, and those of the commands that it sums up."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.cli.rights import drains, probes
from kubectl_eksdoc.cli.rights.right import Right


def _each_once(rights: Iterable[Right]) -> tuple[Right, ...]:
    """By what is allowed: several commands say different things of the same right."""
    return tuple({str(right): right for right in rights}.values())


CHECK = _each_once((*probes.ADDON_DIFF, *probes.IMDS_PROBE, *probes.COREDNS, *probes.INTERRUPTION, *drains.DRAIN_PLAN))
