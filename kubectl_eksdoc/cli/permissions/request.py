"""What was asked of ``permissions``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.amazon.iam import IamPlace
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions, non_empty, opted_from
from kubectl_eksdoc.cli.permissions import rights
from kubectl_eksdoc.cli.permissions.rights import Grown, Invocation
from kubectl_eksdoc.cli.rights import Places
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.coredns import SYSTEM
from kubectl_eksdoc.model.journal import is_namespace
from kubectl_eksdoc.permissions import KINDS, RbacSubject
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

PROBE_NAMESPACE = "default"
JOURNAL, PROBE, KARPENTER = "--journal-namespace", "--probe-namespace", "--karpenter-namespace"
_ACCOUNT = re.compile(r"[0-9]{12}\Z")


@dataclass(frozen=True, slots=True)
class PermissionsRequest:
    """`commands`: none for all that read. `opted`: names of opt-ins. `part`: of the policy, from 1; 0 for the whole of
    it."""

    options: GlobalOptions
    commands: tuple[Invocation, ...]
    places: Places
    opted: tuple[str, ...]
    subjects: tuple[RbacSubject, ...]
    place: IamPlace
    iam: bool = False
    part: int = 0
    check: bool = False

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str], grown: Grown) -> PermissionsRequest:
        """
        Raises:
            UsageError: something is no command, or what was given does not fit together.
        """
        if not SourceOptions.from_args(args).choice.live:
            raise UsageError("rights are of the tool, whatever it reads: leave --demo and --snapshot out")
        options = GlobalOptions.from_args(args)
        request = PermissionsRequest(
            options,
            rights.named(words, grown),
            _places(options, args),
            opted_from(args),
            tuple(args.bind),
            IamPlace(options.region, args.account or "", options.cluster_name),
            args.iam,
            args.part,
            args.check,
        )
        _fits(request)
        return request

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        return non_empty(
            {
                "commands": list(self.typed),
                "with": list(self.opted),
                "journal-namespace": self.places.journal,
                "probe-namespace": self.places.probe,
                "karpenter-namespace": self.places.karpenter,
            }
        )

    @property
    def typed(self) -> tuple[str, ...]:
        """The commands as a shell takes them."""
        return tuple(shell(*each.words) for each in self.commands)

    @property
    def more(self) -> tuple[str, ...]:
        """The words besides the commands by which the same rights are named again."""
        usual = Places(JOURNAL_NAMESPACE, PROBE_NAMESPACE, SYSTEM)
        namespaces = (
            (JOURNAL, self.places.journal, usual.journal),
            (PROBE, self.places.probe, usual.probe),
            (KARPENTER, self.places.karpenter, usual.karpenter),
        )
        words = [word for flag, name, default in namespaces if name != default for word in (flag, name)]
        return (*(("--with", ",".join(self.opted)) if self.opted else ()), *words)


def _fits(request: PermissionsRequest) -> None:
    if request.part and not request.iam:
        raise UsageError("--part is of a policy", "Say --iam, too.")
    for flag, given in (("--check", request.check), ("--bind", bool(request.subjects))):
        if request.iam and given:
            raise UsageError(f"--iam prints a policy, and {flag} is about the cluster", "Leave one of them out.")
    if request.check and request.subjects:
        raise UsageError("--check asks, and --bind prints", "Leave one of them out.")
    if request.iam and request.options.output not in ("table", "json"):
        raise UsageError(f"a policy has no output format {request.options.output!r}: IAM takes JSON alone")


def _places(options: GlobalOptions, args: argparse.Namespace) -> Places:
    journal = args.journal_namespace or options.namespace or JOURNAL_NAMESPACE
    places = Places(journal, args.probe_namespace or PROBE_NAMESPACE, args.karpenter_namespace or SYSTEM)
    for name in (places.journal, places.probe, places.karpenter):
        if not is_namespace(name):
            raise UsageError(f"{name!r} is no name of a namespace")
    return places


def account(text: str) -> str:
    """
    Raises:
        argparse.ArgumentTypeError: it has not twelve digits.
    """
    if not _ACCOUNT.match(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no AWS account: twelve digits")
    return text


def subject(text: str) -> RbacSubject:
    """``Group:eksdoc``, ``User:ann``, ``ServiceAccount:NAMESPACE/NAME``; the kind in any case.

    Raises:
        argparse.ArgumentTypeError: it is none of these.
    """
    word, _, name = text.partition(":")
    kind = next((each for each in KINDS if each.lower() == word.lower()), "")
    if not kind or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is no subject: {', '.join(f'{each}:NAME' for each in KINDS)}")
    if kind != "ServiceAccount":
        return RbacSubject(kind, name)
    namespace, _, name = name.partition("/")
    if not name or not is_namespace(namespace):
        raise argparse.ArgumentTypeError(f"{text!r} does not say in which namespace: ServiceAccount:NAMESPACE/NAME")
    return RbacSubject(kind, name, namespace)
