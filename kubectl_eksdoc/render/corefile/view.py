"""What is shown of a Corefile that was read alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.plan.dns.file import CorefileRead


@dataclass(frozen=True, slots=True)
class CorefileView:
    """`options` as they were given."""

    read: CorefileRead
    options: Mapping[str, object]
    tool_version: str = __version__


_ACCEPTED = {True: "takes", False: "refuses"}


def verdict(read: CorefileRead) -> str:
    accepted = read.judged.accepted
    if accepted is None:
        return f"Whether CoreDNS {read.version} takes {read.path} is not known."
    return f"CoreDNS {read.version} {_ACCEPTED[accepted]} {read.path}."
