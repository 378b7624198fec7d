"""Answers of fleet members, without findings unless a test gives some."""

from __future__ import annotations

from kubectl_eksdoc.model.cluster import FleetMember, Identity, JudgedMember, MemberFinding, UnjudgedMember
from kubectl_eksdoc.model.findings import Severity, Status

SEEN = "2026-11-20T08:51:00Z"


def a_finding(
    code: str = "ami-al2", severity: Severity = Severity.HIGH, status: Status = Status.FAIL, gate: str = ""
) -> MemberFinding:
    return MemberFinding(severity, status, "Nodegroup blue", f"{code} is so", gate)


def an_answer(*findings: MemberFinding, exit_code: int | None = None) -> JudgedMember:
    """An answer; its exit code follows from its findings."""
    statuses = {each.status for each in findings}
    usual = 1 if Status.FAIL in statuses else 5 if Status.UNKNOWN in statuses else 0
    who = Identity("prod", "shop", "111122223333", "eu-west-1", "v1.33")
    return JudgedMember(usual if exit_code is None else exit_code, who, "live", SEEN, "Nothing to do.", findings, {})


def refused(exit_code: int = 3, reason: str = "no answer within 3 min") -> UnjudgedMember:
    return UnjudgedMember(exit_code, reason, "Give it longer: --fleet-timeout.")


def a_member(name: str) -> FleetMember:
    return FleetMember(name, name)
