"""``coredns-lameduck --measure``: what would be made and done is shown and typed back, done, heard, and deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits, rights, saying
from kubectl_eksdoc.cli.confirming import CHANGES, confirm
from kubectl_eksdoc.cli.dns.measure_options import Measure
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.probe_pods import ClockAround, check_allowed, rendered, show, tell_unread
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.run.writable import check_writable
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.errors import Forbidden, UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan
    from kubectl_eksdoc.core.plan.dns.measuring.result import Measured
    from kubectl_eksdoc.flows.dns_measure.ports import Dns
    from kubectl_eksdoc.flows.ports import ProbeGround

COMMAND = "coredns-lameduck --measure"
_PROVES_LITTLE = (
    "a dry run on this side makes nothing: pod security, webhooks, room on the nodes and the image show when it is done"
)
_PROVES_SOME = "the server was asked; room on the nodes and the image show when it is done"


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of the cluster, named so that `saying.told` takes it: AWS is not asked."""

    cluster: Cluster
    calls: str = ""
    denied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asking:
    """Who asks for what, in which surroundings, of which cluster."""

    options: GlobalOptions
    measure: Measure
    around: Surroundings
    cluster: Cluster
    ground: ProbeGround
    dns: Dns
    program: bytes


def measuring(options: GlobalOptions, source: SourceChoice, measure: Measure, around: Surroundings) -> Answer:
    """
    Raises:
        EksdocError: the command line or the cluster is at fault; the error says which.
    """
    from kubectl_eksdoc.core.model.dns_measure import MARKS
    from kubectl_eksdoc.flows.dns_measure.measuring import prepared
    from kubectl_eksdoc.render.dns_measure import FORMATS, MANIFESTS

    (MANIFESTS if measure.dry == "client" else FORMATS).check(options.output)
    if not source.live:
        raise UsageError(
            "--measure asks from pods of the live cluster: --demo and --snapshot have none",
            "To practise: kubectl eksdoc rehearse --serve --demo, and the kubeconfig that it writes.",
        )
    if not measure.dry:
        check_writable(around.environ, COMMAND, "coredns-lameduck without --measure reads only")
    manner, edges = measure.manner, around.edges
    try:
        with ProgressLine(around.stderr) as progress:
            cluster = around.open_reader(source, options.connection, progress).read((kinds.NODES,))
        saying.told(_Read(cluster), options, around)
        ground = edges.open_ground(options.connection, manner.namespace, MARKS)
        dns = edges.open_dns(options.connection)
        plan = prepared(cluster.nodes, ground, dns, edges.new_probe_id(), manner)
        tell_unread(plan.unread, COMMAND, around)
        asking = _Asking(options, measure, around, cluster, ground, dns, edges.packed_asker())
        return _dry(asking, plan) if measure.dry else _measured(asking, plan)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error


def _dry(asking: _Asking, plan: MeasurePlan) -> Answer:
    """What would be made, for kubectl; or whether the server would take it."""
    from kubectl_eksdoc.flows.dns_measure.measuring import tried
    from kubectl_eksdoc.flows.dns_measure.reports import asked
    from kubectl_eksdoc.render.dns_measure import FORMATS, MANIFESTS, MeasureView

    around, options, given = asking.around, asking.options, asking.measure.flags
    if asking.measure.dry == "client":
        view = MeasureView(asking.cluster, plan, given, program=asking.program, asked=asked(plan))
        show(FORMATS, view, options, around)
        around.note(_PROVES_LITTLE)
        return Answer(rendered(MANIFESTS.render, view, options, around))
    view = MeasureView(asking.cluster, plan, given, refused=tried(plan, asking.program, asking.ground, asking.dns))
    around.note(_PROVES_SOME)
    return Answer(rendered(FORMATS.render, view, options, around), exits.FAILS if view.refused else exits.CLEAN)


def _measured(asking: _Asking, plan: MeasurePlan) -> Answer:
    from kubectl_eksdoc.core.plan.dns.measuring.result import Measured
    from kubectl_eksdoc.flows.dns_measure.measuring import Edges, measured
    from kubectl_eksdoc.render.dns_measure import FORMATS, MeasureView

    around, options, given = asking.around, asking.options, asking.measure.flags
    found = Measured(())
    if plan.pods:
        check_allowed(_needed(plan), options, around)
        show(FORMATS, MeasureView(asking.cluster, plan, given), options, around)
        confirm(asking.cluster.identity, plan.changes, "make or end", asking.measure.given, around.ask, of=CHANGES)
        with around.edges.told_to_stop() as told:
            edges = Edges(asking.ground, asking.dns, ClockAround(around), told, around.note)
            found = measured(plan, asking.program, edges)
    view = MeasureView(asking.cluster, plan, given, found)
    text = rendered(FORMATS.render, view, options, around)
    _keep(asking, plan, found)
    code = saying.code(view.findings, asking.measure.accepted)
    return Answer(text, exits.INTERRUPTED if found.interrupted else code)


def _keep(asking: _Asking, plan: MeasurePlan, found: Measured) -> None:
    """For the shutdown budget of later checks, where the Deployment is known."""
    from kubectl_eksdoc.core.plan.dns.measuring.learned import propagation
    from kubectl_eksdoc.host import dns_measurements

    of = propagation(plan, found, len(asking.cluster.nodes))
    if of is not None and plan.workload is not None:
        dns_measurements.keep(plan.workload.uid, asking.cluster.identity.context, of, asking.around.environ)
        asking.around.note("this measurement is kept: coredns-lameduck and check judge lameduck by it")


def _needed(plan: MeasurePlan) -> list[tuple[rights.Right, str]]:
    """All without which what was asked for cannot be done, each in its namespace."""
    from kubectl_eksdoc.core.model.coredns import SYSTEM

    every = rights.BY_COMMAND[COMMAND]
    wanted = [(right, plan.manner.namespace) for right in every if right.required and right.probe]
    happening = plan.manner.happening.value
    return wanted + [(right, SYSTEM) for right in rights.MEASURED_WITH.get(happening, ())]
