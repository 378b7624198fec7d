"""The output of a fleet member's process, as facts: answers, refusals, and invalid output."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.host.fleet import parse_outcome
from kubectl_eksdoc.model.api_objects import UPGRADE_CHECK
from kubectl_eksdoc.model.cluster import Identity, JudgedMember, MemberFinding, MemberOutcome, UnjudgedMember
from kubectl_eksdoc.model.findings import Severity, Status

FINDING = {
    "code": "ami-al2",
    "title": "Nodes of Amazon Linux 2",
    "severity": "high",
    "status": "unknown",
    "subject": {"kind": "Deployment", "namespace": "shop", "name": "cart"},
    "message": "so it is",
    "missing": "eks:ListInsights",
    "gate": "before-nodes",
}
DOCUMENT = {
    "apiVersion": "eksdoc.io/v1alpha1",
    "kind": "UpgradeCheck",
    "metadata": {
        "cluster": {
            "context": "prod",
            "cluster": "shop",
            "account": None,
            "region": "eu-west-1",
            "uid": "u",
            "unverified": ["cluster"],
        },
        "source": "live",
        "observedAt": "2026-11-20T08:51:00Z",
    },
    "verdict": "Not yet.",
    "way": {"target": "1.34"},
    "findings": [FINDING],
}


def of(document: object, status: int = 1, complaint: str = "", kind: str = UPGRADE_CHECK) -> MemberOutcome:
    return parse_outcome(status, json.dumps(document).encode(), complaint, kind)


def test_an_answer() -> None:
    assert of(DOCUMENT, 5) == JudgedMember(
        5,
        Identity("prod", "shop", "", "eu-west-1", "", "u", unverified=("cluster",)),
        "live",
        "2026-11-20T08:51:00Z",
        "Not yet.",
        (
            MemberFinding(
                Severity.HIGH,
                Status.UNKNOWN,
                "Deployment shop/cart",
                "so it is",
                "before-nodes",
            ),
        ),
        DOCUMENT,
    )


@pytest.mark.parametrize("status", [2, 70])
def test_a_refusal_says_why_and_what_to_try(status: int) -> None:
    said = "context prod\nerror: old\nerror: nobody answers at https://x\nTry again.\n    kubectl get nodes\n"
    assert parse_outcome(status, b"", said, UPGRADE_CHECK) == UnjudgedMember(
        status, "nobody answers at https://x", "Try again. kubectl get nodes"
    )
    assert parse_outcome(status, b"", "first\nlast words\n", UPGRADE_CHECK) == UnjudgedMember(status, "last words")
    assert parse_outcome(status, b"", "", UPGRADE_CHECK) == UnjudgedMember(
        status, f"its process ended with exit code {status} and said nothing"
    )


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (-9, "its process was killed by signal 9: last words"),
        (137, "its process ended with exit code 137: last words"),
        (6, "its process ended with exit code 6: last words"),
    ],
)
def test_what_neither_answers_nor_refuses_is_a_bug(status: int, reason: str) -> None:
    found = of(DOCUMENT, status, "last words")
    assert isinstance(found, UnjudgedMember)
    assert (found.exit_code, found.reason) == (70, reason)
    assert ("--parallel" in found.hint) is (status == -9)


WITHOUT = json.dumps({key: value for key, value in DOCUMENT.items() if key != "findings"}).encode()


@pytest.mark.parametrize(
    "printed",
    [WITHOUT, b"{", b"[]", b"\xff", b'{"kind": "DrainPlan"}', b"[" * 100_000, b'{"more": NaN, ' + WITHOUT[1:]],
)
def test_an_answer_without_findings_is_not_clean(printed: bytes) -> None:
    found = parse_outcome(0, printed, "", UPGRADE_CHECK)
    assert found == UnjudgedMember(70, "its process ended with exit code 0 and printed no UpgradeCheck")


@given(st.integers(-70, 255), st.binary(max_size=40), st.text(max_size=40))
def test_whatever_a_process_says_is_an_outcome(status: int, printed: bytes, complaint: str) -> None:
    found = parse_outcome(status, printed, complaint, UPGRADE_CHECK)
    assert isinstance(found, UnjudgedMember) and found.reason and found.exit_code in (2, 3, 4, 70)
