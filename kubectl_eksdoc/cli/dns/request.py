"""What was asked of ``coredns-lameduck``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.cli.opt_in_options import without_from
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.wiring.sources import SourceChoice


@dataclass(frozen=True, slots=True)
class Request:
    """`accepted`: finding codes that may be unknown; `without`: opt-ins that are left out."""

    options: GlobalOptions
    source: SourceChoice
    accepted: tuple[str, ...]
    without: tuple[str, ...] = ()

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
        source = SourceOptions.from_args(args).choice
        return Request(GlobalOptions.from_args(args), source, args.accept_unknown, without_from(args))

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        said: dict[str, object] = {"accept-unknown": list(self.accepted), "without": list(self.without)}
        return {name: value for name, value in said.items() if value}
