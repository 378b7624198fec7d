"""What is done about a right that is missing, now and when a snapshot was taken."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.missing_rights import allow, as_read, of_snapshot

OTHER = Remedy("Look at it.", "kubectl get pods")
UNKNOWN = Finding(
    Code.of_area("drain")[0],
    Severity.HIGH,
    Status.UNKNOWN,
    Subject("Cluster", "prod"),
    "who knows",
    remedy=(allow("list pods"), OTHER),
    missing="list pods",
)


def test_of_a_snapshot_another_one_must_be_taken() -> None:
    assert of_snapshot(UNKNOWN).remedy == (Remedy("Allow list pods, and take the snapshot again."), OTHER)


def test_what_no_right_is_missing_for_stays_as_it_is() -> None:
    found = replace(UNKNOWN, remedy=(OTHER,), missing="pods")
    assert of_snapshot(found) == found
    failing = replace(UNKNOWN, status=Status.FAIL, remedy=(OTHER,), missing="")
    assert of_snapshot(failing) == failing


def test_only_of_a_snapshot() -> None:
    assert as_read([UNKNOWN], Source.LIVE) == as_read([UNKNOWN], Source.DEMO) == (UNKNOWN,)
    assert as_read([UNKNOWN, UNKNOWN], Source.SNAPSHOT) == (of_snapshot(UNKNOWN),) * 2
