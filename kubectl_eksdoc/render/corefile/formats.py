"""What ``-o`` offers for a Corefile that was read alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.model.documents import API_VERSION, COREFILE_READING
from kubectl_eksdoc.core.plan.dns.file import CorefileRead
from kubectl_eksdoc.render.encode import Json, plain_value
from kubectl_eksdoc.render.findings import findings
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import joined, shown, wrap


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


def _lines(read: CorefileRead) -> list[str]:
    if read.judged.refusals:
        return []
    if read.lameduck_s is None:
        ends = "How long it goes on answering when it ends is not known."
    else:
        ends = f"lameduck {read.lameduck_s:g} s; from SIGTERM to the end at most {read.shutdown_s:g} s."
    absent = "not known" if read.lameduck_s is None else "nowhere"  # a plugin's name may be in a variable or a file
    health, ready = (f"on {joined(list(each))}" if each else absent for each in (read.health, read.ready))
    return [ends, f"/health {health}; /ready {ready}."]


def _table(view: CorefileView, look: Look, full: bool = False) -> str:
    head = [look.paint(line, Tone.TITLE) for line in wrap(shown(verdict(view.read), look), look.columns)]
    head += [line for each in _lines(view.read) for line in wrap(shown(each, look), look.columns)]
    sections = [head, findings(view.read.findings, "", look, full, named=True)]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _document(view: CorefileView) -> Json:
    from kubectl_eksdoc.render.document import finding, strings

    read = view.read
    return {
        "apiVersion": API_VERSION,
        "kind": COREFILE_READING,
        "metadata": {
            "toolVersion": view.tool_version,
            "options": {key: plain_value(view.options[key]) for key in sorted(view.options)},
        },
        "file": read.path,
        "corednsVersion": str(read.version),
        "verdict": verdict(read),
        "accepted": read.judged.accepted,
        "lameduckSeconds": read.lameduck_s,
        "shutdownSeconds": read.shutdown_s,
        "health": strings(read.health),
        "ready": strings(read.ready),
        "refusals": [{"line": each.line or None, "message": str(each)} for each in read.judged.refusals],
        "findings": [finding(each) for each in read.findings],
    }


def _sarif(view: CorefileView, look: Look) -> str:
    from kubectl_eksdoc.render.sarif import of_findings

    return of_findings(view.read.findings, "eksdoc-corefile", view.tool_version, look)


FORMATS: Formats[CorefileView] = Formats(
    "a Corefile",
    {
        "table": _table,
        "wide": lambda view, look: _table(view, look, full=True),
        **documents(_document),
        "sarif": _sarif,
    },
)
