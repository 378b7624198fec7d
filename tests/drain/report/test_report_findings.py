"""A ticket has the same findings as a terminal: missing data, and findings that matter only later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.report.report import FindingList, Heading, Report, Section
from kubectl_eksdoc.report.text import Appearance
from tests.builders import a_cluster

FOUND = Finding(
    Code.of("dns-kept-flows"),
    Severity.MEDIUM,
    Status.UNKNOWN,
    Subject("Service", "kube-dns", "kube-system"),
    "how long flows are kept is unknown",
    missing="the mode of kube-proxy",
    remedy=(Remedy("Read it now."), Remedy("Change it with the next update.", when=When.LATER)),
)


@dataclass(frozen=True)
class OfOne(Report):
    noun_phrase: ClassVar[str] = "a finding"

    cluster: Cluster
    tool_version: str = "0"

    def sections(self, full: bool) -> Iterator[Section]:
        yield Heading("One finding.")
        yield FindingList((FOUND,))


def test_a_ticket_has_what_is_missing_and_when() -> None:
    report = OfOne(a_cluster())
    for output in ("wide", "markdown"):
        text = report.render(output, Appearance(100))
        assert "missing: the mode of kube-proxy" in text, output
        assert "later: Change it with the next update." in text and "now: Read" not in text, output
