"""``coredns-lameduck --measure``: what would be made and done is shown and typed back, done, heard, and deleted."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits, opening, rights, values
from kubectl_eksdoc.cli.confirming import CHANGES, ConfirmationFlags, confirm
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.parser import add_flag
from kubectl_eksdoc.cli.probe_pods import ClockAround, check_allowed, check_same, owned, tell_unread
from kubectl_eksdoc.cli.run.allowed import check_writable
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.coredns import MARKS, SYSTEM
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.coredns_lameduck.measuring.findings import DnsMeasurement
    from kubectl_eksdoc.coredns_lameduck.measuring.plan import MeasurementSettings, MeasurePlan
    from kubectl_eksdoc.flows.dns_measure import Dns
    from kubectl_eksdoc.flows.ports import ProbeNamespace
    from kubectl_eksdoc.model.cluster import Cluster


# The flags of ``coredns-lameduck --measure``: what happens while DNS is asked, for how long, from which pods.


WATCH = "watch"
HAPPENINGS = (WATCH, "rollout", "eviction")

WAIT_S = 120.0
_MOST_RATE = 200.0


@dataclass(frozen=True, slots=True)
class _Measure:
    """As it was asked for; None and "": the usual. `dry`: ``client``, ``server`` or "" (no dry run). `accepted`:
    finding codes that may be unknown."""

    happening: str
    for_s: float | None
    rate: float | None
    timeout_s: float | None
    image: str
    namespace: str
    wait_s: float
    given: ConfirmationFlags
    dry: str
    accepted: tuple[str, ...] = ()

    @property
    def manner(self) -> MeasurementSettings:
        from kubectl_eksdoc.coredns_lameduck.measuring import plan as manner

        happening = manner.Happening(self.happening)
        return manner.MeasurementSettings(
            happening,
            self.for_s or (manner.CHANGE_S if happening.changes else manner.WATCH_S),
            self.rate or manner.RATE,
            self.timeout_s or manner.TIMEOUT_S,
            self.image or manner.IMAGE,
            self.namespace or manner.NAMESPACE,
            self.wait_s,
        )

    @property
    def flags(self) -> dict[str, object]:
        """As they were given, by the names of the flags."""
        said: dict[str, object] = {
            "measure": self.happening,
            "for": self.for_s,
            "rate": self.rate,
            "answer-timeout": self.timeout_s,
            "image": self.image,
            "probe-namespace": self.namespace,
            "wait-for": values.duration_text(self.wait_s),
            "dry-run": self.dry,
            "accept-unknown": list(self.accepted),
        }
        return {name: value for name, value in said.items() if value}


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Test from pods (creates and deletes pods)")
    add_flag(
        group,
        "--measure",
        "[watch|rollout|eviction]",
        "send DNS queries from a pod in each zone over UDP and TCP: while you do something yourself "
        "(watch, the default), during a rollout restart of CoreDNS (rollout), or while one of its "
        "pods is evicted (eviction)",
        values.one_of(HAPPENINGS, "thing to happen while DNS is measured", alone=WATCH),
    )
    add_flag(
        group,
        "--for",
        "TIME",
        "maximum duration (default: 60s; 3m with a change, until the change is over)",
        _for,
        dest="measure_for",
    )
    add_flag(group, "--rate", "N", "queries per second to each address over each transport (default: 10)", _rate)
    add_flag(
        group,
        "--answer-timeout",
        "TIME",
        "a query without an answer within this time is lost (default: 5s, as in resolv.conf)",
        _timeout,
    )
    add_flag(
        group,
        "--image",
        "IMAGE",
        "image of the test pods; needs Python 3.10 or newer (default: python:3.12-alpine of public.ecr.aws)",
        default="",
    )
    add_flag(group, "--probe-namespace", "NAME", "namespace of the test pods (default: 'default')", default="")
    add_flag(
        group,
        "--wait-for",
        "TIME",
        f"timeout for the pods to run, including the image pull (default: {values.duration_text(WAIT_S)})",
        _wait,
        default=WAIT_S,
    )


def _for(text: str) -> float:
    from kubectl_eksdoc.coredns_lameduck.measuring.plan import LONGEST_FOR_S

    return _at_most(LONGEST_FOR_S, text)


def _wait(text: str) -> float:
    from kubectl_eksdoc.coredns_lameduck.measuring.plan import LONGEST_WAIT_S

    return _at_most(LONGEST_WAIT_S, text)


def _timeout(text: str) -> float:
    from kubectl_eksdoc.coredns_lameduck.measuring.plan import LONGEST_TIMEOUT_S

    return _at_most(LONGEST_TIMEOUT_S, text)


def _at_most(longest_s: float, text: str) -> float:
    """What a longer one makes would be taken for left behind by the next measurement."""
    found = values.some_seconds(text)
    if found > longest_s:
        raise argparse.ArgumentTypeError(f"{text} is too long: at most {values.duration_text(longest_s)}")
    return found


def _rate(text: str) -> float:
    found = values.rate(text)
    if found > _MOST_RATE:
        raise argparse.ArgumentTypeError(f"{text} is no measurement, it is a flood: at most {_MOST_RATE:g} a second")
    return found


def measure_from(
    args: argparse.Namespace, given: ConfirmationFlags, dry: str, accepted: tuple[str, ...] = ()
) -> _Measure | None:
    """None: nothing is to be measured. `given`, `dry` and `accepted` are read by the command, whose other faces have
    them, too.

    Raises:
        UsageError: flags do not go together.
    """
    found = _Measure(
        args.measure or WATCH,
        args.measure_for,
        args.rate,
        args.answer_timeout,
        args.image,
        args.probe_namespace,
        args.wait_for,
        given,
        dry,
        accepted,
    )
    if args.measure:
        return found
    if found != _Measure(WATCH, None, None, None, "", "", WAIT_S, given, dry, accepted):
        raise UsageError(
            "flags of a measurement are given without --measure",
            "Add --measure, --measure=rollout or --measure=eviction.",
        )
    return None


COMMAND = "coredns-lameduck --measure"
_PROVES_LITTLE = (
    "a dry run on this side makes nothing: pod security, webhooks, room on the nodes and the image show when it is done"
)
_PROVES_SOME = "the server was asked; room on the nodes and the image show when it is done"


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of the cluster, named so that `opening.told` takes it: AWS is not asked."""

    cluster: Cluster
    calls: str = ""
    denied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asking:
    """Who asks for what, in which surroundings, of which cluster."""

    options: GlobalOptions
    measure: _Measure
    around: CommandContext
    cluster: Cluster
    ground: ProbeNamespace
    dns: Dns
    program: bytes


def measuring(options: GlobalOptions, source: SourceChoice, measure: _Measure, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line or the cluster is at fault; the error says which.
    """
    from kubectl_eksdoc.flows.dns_measure import prepared
    from kubectl_eksdoc.render.dns_measure.report import MeasureReport
    from kubectl_eksdoc.render.roles import RoleManifests

    (RoleManifests if measure.dry == "client" else MeasureReport).check(options.output)
    if not source.live:
        raise UsageError(
            "--measure asks from pods of the live cluster: --demo and --snapshot have none",
            "To practise: kubectl eksdoc rehearse --serve --demo, and the kubeconfig that it writes.",
        )
    if not measure.dry:
        check_writable(around.environ, COMMAND, "coredns-lameduck without --measure reads only")
    manner, edges = measure.manner, around.edges
    with opening.explaining(COMMAND):
        with ProgressLine(around.stderr) as progress:
            cluster = around.open_reader(source, options.connection, progress).read((kinds.NODES,))
        opening.told(_Read(cluster), options, around)
        ground = edges.open_ground(options.connection, manner.namespace, MARKS)
        dns = edges.open_dns(options.connection)
        plan = prepared(cluster.nodes, ground, dns, edges.new_probe_id(), manner)
        tell_unread(plan.unread, COMMAND, around)
        asking = _Asking(options, measure, around, cluster, ground, dns, edges.packed_asker())
        return _dry(asking, plan) if measure.dry else _measured(asking, plan)


def _dry(asking: _Asking, plan: MeasurePlan) -> CommandAnswer:
    """What would be made, for kubectl; or whether the server would take it."""
    from kubectl_eksdoc.flows.dns_measure import asked, tried
    from kubectl_eksdoc.render.dns_measure.report import MeasureReport, dry_run

    around, options, given = asking.around, asking.options, asking.measure.flags
    if asking.measure.dry == "client":
        view = MeasureReport(asking.cluster, plan, given, program=asking.program, asked=asked(plan))
        opening.show(view, options, around)
        around.note(_PROVES_LITTLE)
        return opening.answer(dry_run(view), options, around)
    view = MeasureReport(asking.cluster, plan, given, refused=tried(plan, asking.program, asking.ground, asking.dns))
    around.note(_PROVES_SOME)
    return opening.answer(view, options, around, exits.FAILS if view.refused else exits.CLEAN)


def _measured(asking: _Asking, plan: MeasurePlan) -> CommandAnswer:
    from kubectl_eksdoc.coredns_lameduck.measuring.findings import DnsMeasurement
    from kubectl_eksdoc.coredns_lameduck.measuring.plan import owner_manifest
    from kubectl_eksdoc.flows.dns_measure import MeasurementEdges, measured, prepared
    from kubectl_eksdoc.render.dns_measure.report import MeasureReport

    around, options, given = asking.around, asking.options, asking.measure.flags
    found = DnsMeasurement(())
    if plan.pods:
        check_allowed(_needed(plan), options, around)
        opening.show(MeasureReport(asking.cluster, plan, given), options, around)
        confirm(asking.cluster.identity, plan.changes, "make or end", asking.measure.given, around.ask, of=CHANGES)
        nodes = around.open_reader(SourceChoice(), options.connection, None).read((kinds.NODES,)).nodes
        check_same(_made(plan), _made(prepared(nodes, asking.ground, asking.dns, plan.ident, plan.manner)))

        def run(told: Callable[[], int]) -> DnsMeasurement:
            edges = MeasurementEdges(asking.ground, asking.dns, ClockAround(around), told, around.note)
            return measured(plan, asking.program, edges)

        manifest, context = owner_manifest(plan, asking.program), asking.cluster.identity.context
        what = f"{COMMAND}={plan.manner.happening.value} with {CHANGES.said(len(plan.pods))}"
        found = owned(manifest, MARKS, what, context, around, run)
    view = MeasureReport(asking.cluster, plan, given, found)
    text = opening.answered(view, options, around)
    _keep(asking, plan, found)
    code = opening.code(view.findings, asking.measure.accepted)
    return CommandAnswer(text, exits.INTERRUPTED if found.interrupted else code)


def _made(plan: MeasurePlan) -> object:
    """What is made and what goes, which must not be another than was shown."""
    return plan.pods, [each.name for each in plan.affected], plan.workload and plan.workload.uid


def _keep(asking: _Asking, plan: MeasurePlan, found: DnsMeasurement) -> None:
    """For the shutdown budget of later checks, where the Deployment is known."""
    from kubectl_eksdoc.coredns_lameduck.measuring.findings import propagation
    from kubectl_eksdoc.host import cache

    of = propagation(plan, found, len(asking.cluster.nodes))
    if of is not None and plan.workload is not None:
        cache.keep(plan.workload.uid, asking.cluster.identity.context, of, asking.around.environ)
        asking.around.note("this measurement is kept: coredns-lameduck and check judge lameduck by it")


def _needed(plan: MeasurePlan) -> list[tuple[rights.Right, str]]:
    """All without which what was asked for cannot be done, each in its namespace."""
    every = rights.BY_COMMAND[COMMAND]
    wanted = [(right, plan.manner.namespace) for right in every if right.required and right.probe]
    happening = plan.manner.happening.value
    return wanted + [(right, SYSTEM) for right in rights.MEASURED_WITH.get(happening, ())]
