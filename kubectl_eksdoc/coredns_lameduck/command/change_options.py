"""Flags that change or measure CoreDNS: the request, its confirmation, and how long the result is followed."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc.changes.applying import target_arguments
from kubectl_eksdoc.cli import answers, options, values
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.options import CHANGES, ConfirmationFlags, given_flags, without_from_args
from kubectl_eksdoc.cli.parser import add_flag, add_switch, add_text
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import coredns
from kubectl_eksdoc.model.connection import CommandTarget

if TYPE_CHECKING:
    from kubectl_eksdoc.session.session import ClusterSession

    from ..lameduck import DnsChangeRequest
    from ..measurement_plan import MeasurementSettings
    from ..read import MeasurementLookup


WATCH_FOR_S = 1800.0
VERIFY_FOR_S = 180.0
LAMEDUCK = "lameduck"


@frozen
class DnsApplyOptions:
    """How a change is applied.

    `dry`: ``client``, ``server`` or "" (no dry run). `accepted`: codes of findings that may be unknown; `resets`:
    fields that the update may reset. `force`: take over a self-managed Corefile from its field manager. `watch_s`:
    longest time to follow the update and its rollout; `verify_s`: longest time to check the pods afterwards. `resume`:
    the id of a change that was sent before, or ""; `undo`: the id of a change to revert.
    """

    dry: str = ""
    given: ConfirmationFlags = ConfirmationFlags()
    accepted: tuple[str, ...] = ()
    resets: tuple[str, ...] = ()
    force: bool = False
    watch_s: float = WATCH_FOR_S
    verify_s: float = VERIFY_FOR_S
    resume: str = ""
    undo: str = ""


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Changes (preview; applied only with --apply)")
    add_text(
        group,
        "--set",
        "lameduck=TIME",
        "lameduck duration: how long CoreDNS keeps serving after SIGTERM, such as lameduck=20s",
    )
    add_flag(
        group,
        "--place",
        "on-demand",
        "keep CoreDNS off Spot nodes, if two on-demand nodes in two zones fit",
        values.one_of(("on-demand",), "place"),
    )
    add_text(group, "--autoscale", "MIN:MAX", "replicas for the add-on's own autoscaler, MIN:MAX, such as 3:10")
    _add_applying(parser.add_argument_group("Apply"))


def add_confirmation(parser: argparse.ArgumentParser) -> None:
    """The confirmation flags, for both a change and a measurement."""
    group = parser.add_argument_group("Confirmation and dry run")
    condition_text = (
        "exactly N values become others; with --measure: unless exactly N pods are made, replaced or evicted"
    )
    options.add_confirmation(group, CHANGES, condition_text)
    options.add_dry_run(group, "show what would be done", "ask the API server whether it would accept it")


def _add_applying(group: argparse._ArgumentGroup) -> None:
    add_switch(group, "--apply", "apply the change and verify that every pod has loaded it")
    add_flag(
        group,
        "--accept-reset",
        "FIELD,…",
        "fields set by other clients that the update may reset, as named in the refusal",
        lambda text: tuple(name.strip() for name in text.split(",") if name.strip()),
        (),
    )
    add_switch(
        group, "--force-conflicts", "take over the Corefile of a self-managed CoreDNS from its current field manager"
    )
    add_flag(
        group,
        "--watch-for",
        "TIME",
        "stop following the update and its rollout after this time; it continues in EKS (default: "
        f"{values.format_duration(WATCH_FOR_S)})",
        values.some_seconds,
        WATCH_FOR_S,
    )
    add_flag(
        group,
        "--verify-for",
        "TIME",
        f"how long to wait for every pod to load the new Corefile (default: {values.format_duration(VERIFY_FOR_S)})",
        values.some_seconds,
        VERIFY_FOR_S,
    )
    add_text(
        group,
        "--resume",
        "ID",
        "follow a change that was started earlier, from its journal on this machine; changes nothing",
    )


def change_request_from(args: argparse.Namespace) -> DnsChangeRequest | None:
    """The requested change, or None.

    Raises:
        UsageError: a value is not valid.
    """
    if not (args.set or args.place or args.autoscale):
        return None
    from ..lameduck import ChangeRefusal, DnsChangeRequest, parse_autoscale

    scale = parse_autoscale(args.autoscale) if args.autoscale else None
    if isinstance(scale, ChangeRefusal):
        raise UsageError(f"--autoscale: {scale.why}", scale.hint)
    return DnsChangeRequest(_parse_lameduck_flag(args.set), bool(args.place), scale)


def _parse_lameduck_flag(text: str) -> int | None:
    from ..lameduck import ChangeRefusal, parse_lameduck

    if not text:
        return None
    key, equals, value = text.partition("=")
    if key != LAMEDUCK or not equals:
        raise UsageError(f"--set {text!r} is not known", "What can be set so far: --set lameduck=20s.")
    seconds = parse_lameduck(value)
    if isinstance(seconds, ChangeRefusal):
        raise UsageError(f"--set: {seconds.why}", seconds.hint)
    return seconds


def apply_options_from(
    args: argparse.Namespace, confirmation: ConfirmationFlags, dry_run: str, has_measurement: bool
) -> DnsApplyOptions | None:
    """How the change is applied, or None. `confirmation` and `dry_run` belong to the measurement, if there is one.

    Raises:
        UsageError: flags do not fit together.
    """
    apply_options = DnsApplyOptions(
        dry_run,
        confirmation,
        args.accept_unknown,
        args.accept_reset,
        args.force_conflicts,
        args.watch_for,
        args.verify_for,
        args.resume,
    )
    has_request = bool(args.set or args.place or args.autoscale)
    if has_measurement and (has_request or args.apply):
        raise UsageError(
            "--measure looks how CoreDNS is, and a change makes it another", "Change it first, and then measure."
        )
    if not args.apply:
        defaults = DnsApplyOptions(
            accepted=apply_options.accepted, resets=apply_options.resets, force=apply_options.force
        )
        if has_measurement:
            defaults = replace(defaults, dry=dry_run, given=confirmation)
        if apply_options != defaults or (not has_request and (apply_options.resets or apply_options.force)):
            raise UsageError("flags that carry a change out are given without --apply", "Add --apply if you mean it.")
        return None
    if has_request and apply_options.resume:
        raise UsageError(
            "--resume follows a change as it was started: it takes no new settings", "Leave the wish away."
        )
    if not has_request and not apply_options.resume:
        raise UsageError("--apply wants to know what: --set, --place or --autoscale", "For example --set lameduck=20s.")
    if apply_options.resume and (
        apply_options.given.yes or apply_options.dry or apply_options.resets or apply_options.force
    ):
        raise UsageError("--resume follows a change as it was started: it takes no flags of a new one")
    return apply_options


# One request for a change of CoreDNS, and its context.


@frozen
class DnsChangeInvocation:
    """`change_request` None: a change that was started before is checked again."""

    request: LameduckRequest
    change_request: DnsChangeRequest | None
    apply_options: DnsApplyOptions | None
    context: CommandContext

    def connection_args(self, session: ClusterSession) -> tuple[str, ...]:
        """The command-line arguments of this tool that lead to the same cluster."""
        return target_arguments(self.context, session)

    def command_target(self, session: ClusterSession) -> CommandTarget:
        args = self.connection_args(session)
        return replace(
            answers.command_target(self.context, session),
            eksdoc=args,
            kubectl=self.kubectl_args(session),
            eksdoc_live=args,
        )

    def kubectl_args(self, session: ClusterSession) -> tuple[str, ...]:
        return answers.target_flags(self.context, session.cluster.identity.context)


# The request of ``coredns-lameduck``.


@frozen
class LameduckRequest:
    """`accepted`: finding codes that may be unknown; `without`: opt-ins that are left out."""

    accepted: tuple[str, ...]
    without: tuple[str, ...] = ()

    @staticmethod
    def from_args(args: argparse.Namespace) -> LameduckRequest:
        """The request from parsed arguments.

        Raises:
            UsageError: an object is named, or flags do not fit together.
        """
        if args.words:
            raise UsageError(
                f"coredns-lameduck takes no name, and {args.words[0]!r} is one",
                "It is about CoreDNS in kube-system. To change it: --set lameduck=20s.",
            )
        return LameduckRequest(args.accept_unknown, without_from_args(args))

    @property
    def given_options(self) -> dict[str, object]:
        """The given options by flag name."""
        return given_flags({"accept-unknown": list(self.accepted), "without": list(self.without)})


# Names and cached measurements that all variants of ``coredns-lameduck`` use.


NAME = "coredns-lameduck"
ADDON = coredns.NAME


def measurement_lookup(command_context: CommandContext) -> MeasurementLookup:
    """Looks up earlier measurements of this machine."""
    from kubectl_eksdoc.host import cache

    return lambda uid, context: cache.read_propagation(uid, context, command_context.environ)


# The flags of ``coredns-lameduck --measure``: the change during it, its duration, and its pods.


WATCH = "watch"
HAPPENINGS = (WATCH, "rollout", "eviction")

WAIT_S = 120.0


@frozen
class MeasurementRequest:
    """The request for a measurement; None and "": the default. `dry_run`: ``client``, ``server`` or "". `accepted`:
    finding codes that may be unknown."""

    happening: str
    for_s: float | None
    timeout_s: float | None
    image: str
    namespace: str
    wait_s: float
    confirmation: ConfirmationFlags
    dry_run: str
    accepted: tuple[str, ...] = ()

    @property
    def settings(self) -> MeasurementSettings:
        from .. import measurement_plan as manner

        happening = manner.MeasuredChange(self.happening)
        return manner.MeasurementSettings(
            happening,
            self.for_s or (manner.CHANGE_S if happening.changes else manner.WATCH_S),
            self.timeout_s or manner.TIMEOUT_S,
            self.image or manner.IMAGE,
            self.namespace or manner.NAMESPACE,
            self.wait_s,
        )

    @property
    def flags(self) -> dict[str, object]:
        """The given flags by name."""
        flag_values = {
            "measure": self.happening,
            "for": self.for_s,
            "answer-timeout": self.timeout_s,
            "image": self.image,
            "probe-namespace": self.namespace,
            "wait-for": values.format_duration(self.wait_s),
            "dry-run": self.dry_run,
            "accept-unknown": list(self.accepted),
        }
        return given_flags(flag_values)


def add_measurement(parser: argparse.ArgumentParser) -> None:
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
        partial(_limited_seconds, "FOR"),
        dest="measure_for",
    )
    add_flag(
        group,
        "--answer-timeout",
        "TIME",
        "a query without an answer within this time is lost (default: 5s, as in resolv.conf)",
        partial(_limited_seconds, "TIMEOUT"),
    )
    add_text(
        group,
        "--image",
        "IMAGE",
        "image of the test pods; needs Python 3.10 or newer (default: python:3.12-alpine of public.ecr.aws)",
    )
    add_text(group, "--probe-namespace", "NAME", "namespace of the test pods (default: 'default')")
    add_flag(
        group,
        "--wait-for",
        "TIME",
        f"timeout for the pods to run, including the image pull (default: {values.format_duration(WAIT_S)})",
        partial(_limited_seconds, "WAIT"),
        WAIT_S,
    )


def _limited_seconds(limit_name: str, text: str) -> float:
    """The next measurement would take the probes of a longer one for stale."""
    from .. import measurement_plan as plan

    seconds, longest_s = values.some_seconds(text), getattr(plan, f"LONGEST_{limit_name}_S")
    if seconds > longest_s:
        raise argparse.ArgumentTypeError(f"{text} is too long: at most {values.format_duration(longest_s)}")
    return seconds


def measurement_request_from(
    args: argparse.Namespace, confirmation: ConfirmationFlags, dry_run: str, accepted: tuple[str, ...] = ()
) -> MeasurementRequest | None:
    """The requested measurement, or None. The command reads `confirmation`, `dry_run` and `accepted`, because its other
    variants share them.

    Raises:
        UsageError: flags do not fit together.
    """
    request = MeasurementRequest(
        args.measure or WATCH,
        args.measure_for,
        args.answer_timeout,
        args.image,
        args.probe_namespace,
        args.wait_for,
        confirmation,
        dry_run,
        accepted,
    )
    if args.measure:
        return request
    if request != MeasurementRequest(WATCH, None, None, "", "", WAIT_S, confirmation, dry_run, accepted):
        raise UsageError(
            "flags of a measurement are given without --measure",
            "Add --measure, --measure=rollout or --measure=eviction.",
        )
    return None
