"""What was asked of ``interruption``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.cli.opt_in_options import without_from
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice

PRINTED = ("stack", "commands", "iam", "helm-values")
_QUEUE = re.compile(r"[A-Za-z0-9_-]{1,80}\Z")
_STACK = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}\Z")
_KARPENTERS = "karpenter-"
"""What Karpenter's documentation calls its own stack begins so, whatever the case: ``Karpenter-my-cluster``."""


@dataclass(frozen=True, slots=True)
class Request:
    """`printed`: the document that is asked for, "" for the answer itself. `queue` and `stack` are "" for the names
    that follow from what is there. `accepted`: finding codes that may be unknown; `without`: opt-ins left out."""

    options: GlobalOptions
    source: SourceChoice
    printed: str
    queue: str
    stack: str
    accepted: tuple[str, ...]
    without: tuple[str, ...] = ()

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> Request:
        """
        Raises:
            UsageError: something is named that nothing asks for, or what was given does not fit together.
        """
        if words:
            raise UsageError(f"{words[0]!r} is not understood: it is about the whole cluster", "Name nothing.")
        request = Request(
            GlobalOptions.from_args(args),
            SourceOptions.from_args(args).choice,
            args.print or "",
            args.queue or "",
            args.stack_name or "",
            args.accept_unknown,
            without_from(args),
        )
        if request.stack and request.printed not in ("", "stack"):
            raise UsageError(f"--stack-name is of --print stack, and --print {request.printed} makes none")
        return request

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        said: dict[str, object] = {
            "queue": self.queue,
            "stack-name": self.stack,
            "accept-unknown": list(self.accepted),
            "without": list(self.without),
        }
        return {name: value for name, value in said.items() if value}


def queue_name(text: str) -> str:
    """
    Raises:
        argparse.ArgumentTypeError: SQS takes no such name.
    """
    if not _QUEUE.match(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a queue: letters, digits, - and _, at most 80")
    return text


def stack_name(text: str) -> str:
    """
    Raises:
        argparse.ArgumentTypeError: CloudFormation takes no such name, or it is that of Karpenter's own stack.
    """
    if not _STACK.match(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name of a stack: a letter, then letters, digits and hyphens, at most 128"
        )
    if text.lower().startswith(_KARPENTERS):
        raise argparse.ArgumentTypeError(
            f"{text!r} is what Karpenter's own stack is called; deployed there, what is missing would delete the rest"
        )
    return text
