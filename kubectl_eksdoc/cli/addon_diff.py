"""``kubectl eksdoc addon-diff``: parse, read, ask the flow for each add-on, return what the renderer says."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits, rights
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, Forbidden, UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.core.model.aws.addons import AddonSide
    from kubectl_eksdoc.core.plan.addon.facts import Asked
    from kubectl_eksdoc.core.plan.addon.plan import AddonPlan
    from kubectl_eksdoc.wiring.addons import AddonWorld

_ABOUT = """\
Say what the update of an EKS add-on will really change: each field of its live objects that somebody has set, what
becomes of it with NONE, OVERWRITE and PRESERVE, who would notice, and the configuration values that change nothing.
Reads the cluster and AWS, and changes nothing.

Examples:
  %(prog)s vpc-cni
  %(prog)s vpc-cni --to v1.20.4-eksbuild.2 --resolve-conflicts OVERWRITE
  %(prog)s coredns --to latest --configuration-values values.yaml
  %(prog)s --all -o json
  %(prog)s vpc-cni --demo
"""

_EXIT_CODES = """\
Exit codes: 0 nothing is lost, 1 findings that fail, 5 something is unknown; 2 usage, 3 cluster, 4 AWS.
Global flags: kubectl eksdoc options
"""

MODES = ("NONE", "OVERWRITE", "PRESERVE")
NAME = "addon-diff"


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``addon-diff``."""
    parser = commands.add_parser(
        NAME,
        help="what an add-on's update will really change",
        usage="%(prog)s [ADDON] [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
    )
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    SourceOptions.add_to(parser)
    group = parser.add_argument_group("The update")
    group.add_argument(
        "--to",
        metavar="VERSION",
        default="",
        help="the target version, or 'latest' (default: the one that EKS marks as default for this cluster)",
    )
    group.add_argument(
        "--resolve-conflicts",
        type=_mode,
        default="NONE",
        metavar="MODE",
        help="NONE, OVERWRITE or PRESERVE: what is judged; all three are shown (default: NONE, as EKS's own)",
    )
    group.add_argument(
        "--configuration-values",
        metavar="FILE",
        default=None,
        help="a file with the values that the call gives, JSON or YAML (default: today's are kept)",
    )
    group.add_argument("--all", action="switch", default=False, help="every add-on that EKS manages in this cluster")
    parser.set_defaults(leaf=parser, command=run)


def _mode(text: str) -> str:
    if text.upper() not in MODES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(MODES)}")
    return text.upper()


@dataclass(frozen=True, slots=True)
class Request:
    """`addon` is "" for all of them; `values` is a path, "" where the call gives none."""

    options: GlobalOptions
    source: SourceChoice
    addon: str
    to: str
    mode: str
    values: str | None

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> Request:
        """
        Raises:
            UsageError: no add-on is named, or several, or what was given does not fit together.
        """
        if len(words) > 1:
            raise UsageError(f"one add-on at a time, and {len(words)} are named", "For every one: --all.")
        if bool(words) is bool(args.all):
            what = "an add-on is named beside --all" if words else "no add-on is named"
            raise UsageError(
                what, "Name one (vpc-cni, coredns, kube-proxy …), or give --all. Without a cluster: --demo"
            )
        if args.all and (args.to not in ("", "latest") or args.configuration_values is not None):
            raise UsageError("--to VERSION and --configuration-values are of one add-on, and --all names every one")
        return Request(
            GlobalOptions.from_args(args),
            SourceOptions.from_args(args).choice,
            words[0] if words else "",
            args.to,
            args.resolve_conflicts,
            args.configuration_values,
        )

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        said = {"addon": self.addon, "all": not self.addon, "to": self.to, "configuration-values": self.values or ""}
        return {name: value for name, value in said.items() if value} | {"resolve-conflicts": self.mode}


def run(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """
    Raises:
        EksdocError: the command line, a file, the cluster or AWS is at fault; the error says which.
    """
    request = Request.from_args(args, words)
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.core.plan.addon.rendering import every_object
    from kubectl_eksdoc.flows.addon import KINDS, plan_addon
    from kubectl_eksdoc.kube.aws_access import AwsWanted
    from kubectl_eksdoc.render.addon import FORMATS, AddonView
    from kubectl_eksdoc.render.identity import identity_line
    from kubectl_eksdoc.wiring.addons import Reading

    options = request.options
    FORMATS.check(options.output)
    asked = _asked(request, around)
    wanted = AwsWanted(options.cluster_name, options.region, options.profile)
    try:
        with ProgressLine(around.stderr) as progress:
            world = around.open_addons(
                request.source, options.connection, wanted, progress, Reading(KINDS, every_object())
            )
        names = (request.addon,) if request.addon else world.names()
        sides = tuple(_sides(world, names, request, around))
        plans = tuple(plan_addon(world.cluster, world.eks, side, world.objects, asked, world.judge) for side in sides)
    except Forbidden as error:
        raise rights.explained(error, NAME) from error
    around.note(identity_line(world.cluster, around.now(), looks.decide(options, around.stderr, around.environ)))
    if options.debug and world.calls:
        around.note(f"debug: {world.calls}")
    view = AddonView(plans, world.cluster, request.given, world.recognised)
    return Answer(
        FORMATS.render(view, options.output, looks.decide(options, around.stdout, around.environ)), code(plans)
    )


def _sides(world: AddonWorld, names: Sequence[str], request: Request, around: Surroundings) -> Iterator[AddonSide]:
    """Of one add-on, or of all: then what cannot be told of one is said, and takes no other with it."""
    for name in names:
        try:
            yield world.side(name, request.to)
        except (AwsDenied, AwsMissing, UsageError) as error:
            if request.addon:
                raise
            around.note(f"note: {name} is left out: {error.message}")


def _asked(request: Request, around: Surroundings) -> Asked:
    from kubectl_eksdoc.core.plan.addon.facts import Asked
    from kubectl_eksdoc.core.plan.addon.modes import Mode

    if request.values is None:
        return Asked(Mode(request.mode))
    return Asked(Mode(request.mode), around.read_values(request.values))


def code(plans: Sequence[AddonPlan], left_out: bool = False) -> int:
    """What is known to fail matters more than what is not known; an add-on that was left out is not known."""
    from kubectl_eksdoc.core.model.findings import Status

    found = {each.status for plan in plans for each in plan.findings}
    if Status.FAIL in found:
        return exits.FAILS
    return exits.UNKNOWN if left_out or Status.UNKNOWN in found else exits.CLEAN
