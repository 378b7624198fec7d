"""A Corefile that was read alone, in every format.

Belongs here: what is shown of it, in which order and in which words.
Never here: what CoreDNS takes, and how bad it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.coredns_lameduck.file import CorefileRead
from kubectl_eksdoc.render.formats import Formats, documents
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.tables import findings
from kubectl_eksdoc.render.text import joined, shown, wrap

# What is shown of a Corefile that was read alone.


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


# What ``-o`` offers for a Corefile that was read alone.


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


def _result(view: CorefileView) -> object:
    from kubectl_eksdoc.render.corefile.result import CorefileResult

    return CorefileResult.of(view)


def _sarif(view: CorefileView, look: Look) -> str:
    from kubectl_eksdoc.render.sarif import of_findings

    return of_findings(view.read.findings, "eksdoc-corefile", view.tool_version, look)


FORMATS: Formats[CorefileView] = Formats(
    "a Corefile",
    {
        "table": _table,
        "wide": lambda view, look: _table(view, look, full=True),
        **documents(_result),
        "sarif": _sarif,
    },
)
