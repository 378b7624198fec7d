"""Many clusters that are judged together: which they are, and what each of them answered."""

from __future__ import annotations

from typing import TypeAlias

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.cluster import Identity
from kubectl_eksdoc.model.findings import Severity, Status


@frozen
class Member:
    """One of them. `name`: of its row; what is "" is as the flags and the kubeconfig have it. With a `snapshot` (a
    path) no cluster is asked."""

    name: str
    context: str = ""
    kubeconfig: str = ""
    cluster: str = ""
    region: str = ""
    profile: str = ""
    snapshot: str = ""


@frozen
class MemberFinding:
    """A finding of a member, as its document has it. `subject`: ``Deployment shop/cart``; `gate`: the step of an
    upgrade that waits for it, "" for none."""

    severity: Severity
    status: Status
    subject: str
    message: str
    gate: str = ""


@frozen
class JudgedMember:
    """It was judged. `exit_code`: 0, 1 or 5; `source`: live, snapshot or demo; `observed_at`: RFC 3339, UTC;
    `verdict`: a sentence, "" where its kind of document has none; `document`: all of it."""

    exit_code: int
    who: Identity
    source: str
    observed_at: str
    verdict: str
    findings: tuple[MemberFinding, ...]
    document: Doc


@frozen
class UnjudgedMember:
    """It could not be judged, and why, with what to try ("" where nobody says). `exit_code`: as the command alone would
    exit with; `who`: as far as that is known without asking."""

    exit_code: int
    reason: str
    hint: str = ""
    who: Identity = Identity()


Outcome: TypeAlias = JudgedMember | UnjudgedMember
