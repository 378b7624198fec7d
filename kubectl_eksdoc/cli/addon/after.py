"""What the last update of an add-on took, and what is done about it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits, opening, rights
from kubectl_eksdoc.cli.addon import apply_options
from kubectl_eksdoc.cli.addon.request import addon_named
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, Forbidden, UsageError
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.model.aws.addons import AddonPast
    from kubectl_eksdoc.session.session import ClusterSession

NAME = "addon-diff --after"
_OF_THE_NEXT = (
    "to",
    "resolve_conflicts",
    "configuration_values",
    "each_step",
    "since_when",
    "tf_plan",
    "apply",
    "since",
    "strict",
    "explain_conflict",
    "manifest",
    "chart",
)
"""Flags by their names in the arguments that say what is yet to come."""


def add_to(parser: Parser) -> None:
    """Add its flags."""
    group = parser.add_argument_group("Analyze a past update")
    group.add_argument(
        "--after",
        action="switch",
        default=False,
        help="show what the last update reset, the patch that restores it, and the values that keep it",
    )
    group.add_argument(
        "--update", metavar="ID", default="", help="ID of an earlier update from aws eks list-updates (with --after)"
    )


@dataclass(frozen=True, slots=True)
class AfterRequest:
    """`addon` is "" for all of them; `update` an id, "" for the latest."""

    options: GlobalOptions
    source: SourceChoice
    addon: str
    update: str

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> AfterRequest:
        """
        Raises:
            UsageError: no add-on is named, or several, or what was given does not fit together.
        """
        if not args.after:
            raise UsageError("--update names an update that has happened, and is of --after", "Give both.")
        beside = [name for name in _OF_THE_NEXT if getattr(args, name, None) not in (None, "", False)]
        if beside:
            flags = " and ".join(f"--{name.replace('_', '-')}" for name in beside)
            raise UsageError(
                f"{flags} beside --after, which looks back on an update that has happened",
                "Ask for one of them at a time.",
            )
        apply_options.apply_from(args)  # what belongs to it alone is of no use here
        addon = addon_named(args, words)
        if args.all and args.update:
            raise UsageError("--update ID is of one add-on, and --all names every one")
        return AfterRequest(GlobalOptions.from_args(args), SourceOptions.from_args(args).choice, addon, args.update)

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        said = {"addon": self.addon, "all": not self.addon, "after": True, "update": self.update}
        return {name: value for name, value in said.items() if value}


def look_back(request: AfterRequest, around: Surroundings) -> Answer:
    """
    Raises:
        EksdocError: the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.addon_diff.read import HISTORIES, NEEDS, addon_names, look_back_on
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.render.addon.after import AfterReport

    options = request.options
    AfterReport.check(options.output)
    try:
        session = opening.opened(request, around, replace(NEEDS, histories=HISTORIES))
        names = (request.addon,) if request.addon else addon_names(session)
        pasts = tuple(_pasts(session, names, request, around))
        found = tuple(look_back_on(session, past) for past in pasts)
    except Forbidden as error:
        raise rights.explained(error, NAME) from error
    opening.told(session, options, around)
    report = AfterReport(found, session.cluster, request.given, session.recognised)
    code = opening.code(each for one in found for each in one.findings)
    if len(found) < len(names) and code == exits.CLEAN:
        code = exits.UNKNOWN  # an add-on that was left out is not known
    return Answer(looks.answered(report, options, around), code)


def _pasts(
    session: ClusterSession, names: Sequence[str], request: AfterRequest, around: Surroundings
) -> Iterator[AddonPast]:
    """Of one add-on, or of all: then what cannot be told of one is said, and takes no other with it."""
    from kubectl_eksdoc.addon_diff.read import past_of

    for name in names:
        try:
            yield past_of(session, name, request.update)
        except (AwsDenied, AwsMissing) as error:
            if request.addon:
                raise
            around.note(f"note: {name} is left out: {error.message}")
