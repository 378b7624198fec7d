"""Who reaches the metadata service, as ``imds-probe`` answers it without measuring or changing anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import reaching, rights, saying, since_options
from kubectl_eksdoc.cli.metadata import reading
from kubectl_eksdoc.cli.metadata.request import Request
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.core.model.earlier import Earlier
    from kubectl_eksdoc.core.plan.metadata.plan import MetadataPlan
    from kubectl_eksdoc.flows.metadata import Scope
    from kubectl_eksdoc.wiring.metadata import MetadataWorld


def judging(request: Request, around: Surroundings) -> Answer:
    """
    Raises:
        EksdocError: a file, the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.core.plan.metadata.against import against
    from kubectl_eksdoc.core.plan.metadata.fixes.chooser import offered
    from kubectl_eksdoc.core.plan.metadata.of_pod import of_pod
    from kubectl_eksdoc.render.metadata import FORMATS, MetadataView

    options = request.options
    FORMATS.check(options.output)
    scope = reading.scope(request)
    before = _earlier(request, scope, around)
    try:
        world, plan = answered(request, scope, around)
    except Forbidden as error:
        raise rights.explained(error, reading.NAME) from error
    saying.told(world, options, around)
    since_options.told(before, around)
    pod = of_pod(plan, plan.facts.cluster.pods[0]) if request.pod else None
    beside = against(before, world.cluster, plan, request.given) if before is not None else None
    named = bool(request.groups or request.nodes)
    choices = offered(plan, world.cluster, world.vpc, world.profile, named)
    view = MetadataView(plan, request.given, world.recognised, pod, choices, since=beside)
    look = looks.decide(options, around.stdout, around.environ)
    return Answer(FORMATS.render(view, options.output, look), saying.code(plan.findings, request.accepted))


def answered(request: Request, scope: Scope, around: Surroundings) -> tuple[MetadataWorld, MetadataPlan]:
    """
    Raises:
        EksdocError: the cluster or AWS is at fault; the error says which.
    """
    from kubectl_eksdoc.flows.metadata import plan_imds

    world = reading.opened(request, around)
    whole = None if request.source.live else world.cluster
    reach = reaching.reach(request.source, request.options, world.cluster.identity.context)
    cluster, hops = scope.of(world.cluster), request.hops
    return world, plan_imds(cluster, world.machines, hops, world.inside, whole, reach, request.assumed)


def _earlier(request: Request, scope: Scope, around: Surroundings) -> Earlier | None:
    """What --since names: an answer that was saved, or the same one of what was read earlier; None without it.

    Raises:
        BaselineError: it is neither.
    """
    from kubectl_eksdoc.core.model.documents import IMDS_PROBE
    from kubectl_eksdoc.core.plan.metadata.against import as_earlier
    from kubectl_eksdoc.core.plan.since.made import Of

    def made(source: SourceChoice) -> Earlier:
        world, plan = answered(replace(request, source=source), scope, around)
        return as_earlier(Of(request.earlier, __version__, request.given), world.cluster, plan)

    return since_options.earlier(request.earlier, IMDS_PROBE, reading.NAME, around, made)
