"""What was asked of ``coredns-lameduck``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice


@dataclass(frozen=True, slots=True)
class Request:
    """`accepted`: finding codes that may be unknown."""

    options: GlobalOptions
    source: SourceChoice
    accepted: tuple[str, ...]

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> Request:
        """
        Raises:
            UsageError: a word is given, or what was given does not fit together.
        """
        if words:
            raise UsageError(
                f"coredns-lameduck takes no name, and {words[0]!r} is one",
                "It is about CoreDNS in kube-system. To change it: --set lameduck=20s.",
            )
        return Request(GlobalOptions.from_args(args), SourceOptions.from_args(args).choice, args.accept_unknown)

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        return {"accept-unknown": list(self.accepted)} if self.accepted else {}
