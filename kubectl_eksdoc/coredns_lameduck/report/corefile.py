"""A Corefile that was read alone, in every format.

Belongs here: what is shown of it, in which order and in which words.
Never here: what CoreDNS takes, and how bad it is.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, cast

from kubectl_eksdoc.addon_diff.outcome import AddonRollback
from kubectl_eksdoc.addon_diff.report.outcome import WayBackText, way_back_text
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile import parse
from kubectl_eksdoc.kubernetes.corefile_plugins import lameduck_s
from kubectl_eksdoc.kubernetes.redaction import printed, printed_corefile
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import CommandTarget, shell
from kubectl_eksdoc.model.coredns import Corefile
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report.encode import Json, to_yaml
from kubectl_eksdoc.report.report import PLAIN, CommandReport, Findings, Head, Section
from kubectl_eksdoc.report.result import FindingResult, KindResult, Meta, Positive, Printed, Text, Texts
from kubectl_eksdoc.report.sarif import Sarif, SarifDetails
from kubectl_eksdoc.report.text import joined

from ..change import COREFILE
from ..lameduck import EditedCorefile
from ..shutdown import CorefileRead


@frozen
class CorefileReport(CommandReport):
    of = "a Corefile"

    read: CorefileRead

    def sections(self, full: bool) -> Iterator[Section]:
        yield Head(verdict(self.read), _lines(self.read))
        yield Findings(self.read.findings)

    def result(self) -> object:
        read = self.read
        options = {key: self.options[key] for key in sorted(self.options)}
        return CorefileResult.filled(
            read,
            metadata=_FileMetadata.filled(self, options=options),
            verdict=verdict(read),
            refusals=(_Refusal.filled(line=each.line or None, message=str(each)) for each in read.judged.refusals),
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.read.findings

    formats = MappingProxyType({**PLAIN, "sarif": Sarif(lambda _: SarifDetails("eksdoc-corefile"))})


_ACCEPTED = {True: "takes", False: "refuses"}


def verdict(read: CorefileRead) -> str:
    accepted = read.judged.accepted
    if accepted is None:
        return f"Whether CoreDNS {read.version} takes {read.path} is not known."
    return f"CoreDNS {read.version} {_ACCEPTED[accepted]} {read.path}."


def _lines(read: CorefileRead) -> list[str]:
    if read.judged.refusals:
        return []
    if read.lameduck_s is None:
        ends = "How long it keeps serving while it shuts down is unknown."
    else:
        ends = f"lameduck {read.lameduck_s:g} s; from SIGTERM to the end at most {read.shutdown_s:g} s."
    absent = "not known" if read.lameduck_s is None else "nowhere"  # a plugin's name may be in a variable or a file
    health, ready = (f"on {joined(list(each))}" if each else absent for each in (read.health, read.ready))
    return [ends, f"/health {health}; /ready {ready}."]


# As ``-o json`` and ``-o yaml`` print it.

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

    called = {"file": "path", "coredns_version": "version", "accepted": "judged.accepted"}

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


# What a change of CoreDNS is as text: the differences, and the same and the way back as lines for a shell.


def diff(texts: EditedCorefile) -> list[str]:
    """Unified, with enough around it to see which server block it is in."""
    before, after = (printed_corefile(text).splitlines() for text in (texts.before, texts.after))
    return list(difflib.unified_diff(before, after, "Corefile (today)", "Corefile (new)", lineterm="", n=3))


def values_diff(before: Doc, after: Doc) -> list[str]:
    """Of the add-on's values as YAML; the Corefile is named only."""
    old, new = _as_yaml(before), _as_yaml(after)
    found = difflib.unified_diff(old, new, "values (today)", "values (new)", lineterm="", n=2)
    return [line for line in found if not line.startswith("@@")]


def _as_yaml(values: Doc) -> list[str]:
    text = values.get(COREFILE)
    named = f"{len(text.splitlines())} lines, lameduck {_lameduck(text)}" if isinstance(text, str) else ""
    said = printed(values) | ({COREFILE: named} if named else {})
    return to_yaml(cast(Json, {key: said[key] for key in sorted(said)})).splitlines() if said else []


def _lameduck(text: str) -> str:
    corefile = parse(text)
    found = lameduck_s(corefile) if isinstance(corefile, Corefile) else None
    return "?" if found is None else f"{found:g}s"


def apply_config(config: Doc, force: bool, kubectl: Sequence[str]) -> str:
    """Server-side, from standard input."""
    secret = printed(config) != config  # then it is a file of one's own
    apply = ["kubectl", *kubectl, "apply", "--server-side", "--field-manager=eksdoc"]
    apply += ["-f", "configmap.json" if secret else "-", *(["--force-conflicts"] if force else [])]
    text = json.dumps(config, sort_keys=True, separators=(",", ":"))
    return shell(*apply) if secret else f"{shell('printf', '%s', text)} | {shell(*apply)}"


def back_of_update(back: AddonRollback | Unknown, eks: EksCluster, reach: CommandTarget) -> tuple[str, ...]:
    found = way_back_text(back, eks.name, eks.region, "", reach)
    return found.commands if isinstance(found, WayBackText) else (f"# {found}",)


def back_of_map(file: str, kubectl: Sequence[str]) -> tuple[str, ...]:
    """`file` holds the Corefile of before, and nothing else of the ConfigMap."""
    said = ["kubectl", *kubectl, "apply", "--server-side", "--field-manager=eksdoc", "-f", file]
    return (shell(*said),)
