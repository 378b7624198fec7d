"""A Corefile that was read alone as ``-o json`` and ``-o yaml`` print it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from kubectl_eksdoc.render.corefile import CorefileView, verdict
from kubectl_eksdoc.render.result import FindingResult, KindResult, Meta, Positive, Printed, Text, Texts

_Seconds = Annotated[float, Meta(ge=0)]


class _FileMetadata(Printed):
    """Which tool, and the options as given."""

    tool_version: Text
    options: dict[str, Any]


class _Refusal(Printed):
    line: Positive | None
    message: Text


class CorefileResult(KindResult):
    """A Corefile read alone: kubectl eksdoc coredns-lameduck -f Corefile -o json. No cluster is in it."""

    kind: Literal["CorefileReading"]
    metadata: _FileMetadata
    file: Text
    """The file, as it was named."""
    coredns_version: Annotated[str, Meta(pattern="^v[0-9]")]
    """The version that judges."""
    verdict: Text
    """In a sentence."""
    accepted: bool | None
    """Whether that CoreDNS would start with it; null where that is not known."""
    lameduck_seconds: _Seconds | None
    """Of all health plugins together; null where the text does not tell it, or is refused."""
    shutdown_seconds: _Seconds | None
    """From SIGTERM to the end, at most: lameduck and the closing of the servers."""
    health: Texts
    """Where /health is answered, one for each server block with the plugin."""
    ready: Texts
    """Where /ready is answered, one for each server block with the plugin."""
    refusals: tuple[_Refusal, ...]
    """Why it is refused, in CoreDNS' words and order; it stops at the first."""
    findings: tuple[FindingResult, ...]

    @classmethod
    def of(cls, facts: CorefileView) -> CorefileResult:
        read = facts.read
        options = {key: facts.options[key] for key in sorted(facts.options)}
        return cls.filled(
            read,
            metadata=_FileMetadata.filled(facts, options=options),
            file=read.path,
            coredns_version=str(read.version),
            verdict=verdict(read),
            accepted=read.judged.accepted,
            lameduck_seconds=read.lameduck_s,
            shutdown_seconds=read.shutdown_s,
            refusals=(_Refusal.filled(line=each.line or None, message=str(each)) for each in read.judged.refusals),
        )
