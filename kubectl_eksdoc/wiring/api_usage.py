"""Who uses which API version, of whatever is read: what is needed of it is asked for, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_eksdoc.model.api_usage import ApiTold
from kubectl_eksdoc.model.asked import NOT_ASKED
from kubectl_eksdoc.model.check_needs import Need

if TYPE_CHECKING:
    from kubectl_eksdoc.flows.beside import UsageSigns
    from kubectl_eksdoc.model.api_usage import Manifest
    from kubectl_eksdoc.model.check_needs import Wanted
    from kubectl_eksdoc.model.kinds import Resource


def api_told(signs: UsageSigns, files: Sequence[str], wanted: Wanted) -> ApiTold:
    """
    Raises:
        ClusterError: the cluster cannot be asked any more.
        UsageError: a file of manifests is not there.
    """
    needs = wanted.needs
    return ApiTold(
        signs.requested() if Need.API_REQUESTS in needs else NOT_ASKED,
        signs.written(_resources(wanted)),
        signs.releases() if Need.HELM in needs else NOT_ASKED,
        _manifests(files) if Need.MANIFESTS in needs else (),
    )


def _resources(wanted: Wanted) -> tuple[Resource, ...]:
    from kubectl_eksdoc.amazon.upgrades.written_kinds import going, gone_before
    from kubectl_eksdoc.model.versions import parse

    now, target = parse(wanted.now), parse(wanted.target)
    if now is None or target is None:
        return ()
    on_the_way = going(now, target) if Need.API_WRITTEN in wanted.needs else ()
    before = gone_before(now) if Need.API_GONE in wanted.needs else ()
    return tuple(dict.fromkeys((*on_the_way, *before)))


def _manifests(files: Sequence[str]) -> tuple[Manifest, ...]:
    if not files:
        return ()
    from kubectl_eksdoc.host.manifest_files import read_manifests

    return read_manifests(files)
