"""Report of a single Corefile, in every format.

Belongs here: what is shown of it, and in which order. Never here: what CoreDNS accepts, and severities.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Annotated, Any, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.report.report import DEFAULT_BACKENDS, CommandReport, FindingList, Heading, Section
from kubectl_eksdoc.report.result import (
    FindingResult,
    KindResult,
    Meta,
    PositiveCount,
    Printed,
    Text,
    Texts,
)
from kubectl_eksdoc.report.sarif import SarifBackend, SarifDetails
from kubectl_eksdoc.report.text import join_words

from ..shutdown import CheckedCorefile


@frozen
class CorefileReport(CommandReport):
    noun_phrase = "a Corefile"

    read: CheckedCorefile

    def sections(self, full: bool) -> Iterator[Section]:
        yield Heading(verdict(self.read), _summary_lines(self.read))
        yield FindingList(self.read.findings)

    def result(self) -> object:
        read = self.read
        options = {key: self.options[key] for key in sorted(self.options)}
        return CorefileResult.from_facts(
            read,
            metadata=_FileMetadata.from_facts(self, options=options),
            verdict=verdict(read),
            refusals=(_Refusal.from_facts(line=each.line or None, message=str(each)) for each in read.judged.refusals),
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.read.findings

    formats = MappingProxyType({**DEFAULT_BACKENDS, "sarif": SarifBackend(lambda _: SarifDetails("eksdoc-corefile"))})


_ACCEPTED = {True: "takes", False: "refuses"}


def verdict(read: CheckedCorefile) -> str:
    accepted = read.judged.accepted
    if accepted is None:
        return f"Whether CoreDNS {read.version} takes {read.path} is not known."
    return f"CoreDNS {read.version} {_ACCEPTED[accepted]} {read.path}."


def _summary_lines(read: CheckedCorefile) -> list[str]:
    if read.judged.refusals:
        return []
    if read.lameduck_s is None:
        shutdown_text = "How long it keeps serving while it shuts down is unknown."
    else:
        shutdown_text = f"lameduck {read.lameduck_s:g} s; from SIGTERM to the end at most {read.shutdown_s:g} s."
    absent_text = (
        "not known" if read.lameduck_s is None else "nowhere"
    )  # a plugin's name may be in a variable or a file
    health, ready = (f"on {join_words(list(each))}" if each else absent_text for each in (read.health, read.ready))
    return [shutdown_text, f"/health {health}; /ready {ready}."]


# The result as ``-o json`` and ``-o yaml`` print it.

_Seconds = Annotated[float, Meta(ge=0)]


class _FileMetadata(Printed):
    """The version of the tool, and the options as given."""

    tool_version: Text
    options: dict[str, Any]


class _Refusal(Printed):
    line: PositiveCount | None
    message: Text


class CorefileResult(KindResult):
    """A single Corefile: kubectl eksdoc coredns-lameduck -f Corefile -o json. It is read without a cluster."""

    called = {"file": "path", "coredns_version": "version", "accepted": "judged.accepted"}

    kind: Literal["CorefileReading"]
    metadata: _FileMetadata
    file: Text
    """The file, as the user named it."""
    coredns_version: Annotated[str, Meta(pattern="^v[0-9]")]
    """The version of CoreDNS that it is checked for."""
    verdict: Text
    """One sentence."""
    accepted: bool | None
    """Whether that CoreDNS would start with it; null: unknown."""
    lameduck_seconds: _Seconds | None
    """Of all health plugins together; null where the text does not determine it, or is refused."""
    shutdown_seconds: _Seconds | None
    """Longest time from SIGTERM to the end: lameduck and the closing of the servers."""
    health: Texts
    """Addresses that answer /health, one for each server block with the plugin."""
    ready: Texts
    """Addresses that answer /ready, one for each server block with the plugin."""
    refusals: tuple[_Refusal, ...]
    """Why it is refused, in CoreDNS' words and order; CoreDNS stops at the first."""
    findings: tuple[FindingResult, ...]
