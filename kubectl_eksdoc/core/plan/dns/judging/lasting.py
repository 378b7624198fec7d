"""What of CoreDNS the next update of the add-on takes back."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, When
from kubectl_eksdoc.core.plan.dns.deployed import Deployed
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts
from kubectl_eksdoc.core.plan.dns.judging.leaving import ending
from kubectl_eksdoc.core.plan.dns.judging.subjects import CONFIG, DEPLOYMENT, set_to
from kubectl_eksdoc.core.plan.dns.shutdown import DEFAULT_GRACE_S
from kubectl_eksdoc.core.rules.corefile.config_map import EKS


def judged(facts: DnsFacts) -> Iterator[Finding]:
    """Nothing where EKS does not manage it, or that is not known."""
    if isinstance(facts.addon, (Absent, Unknown)):
        return
    of = facts.deployed
    if isinstance(of, Deployed) and of.grace_s != DEFAULT_GRACE_S:
        yield _grace(of)
    yield from _corefile(facts)


def _grace(of: Deployed) -> Finding:
    return Finding(
        codes.FOREIGN_GRACE,
        Severity.MEDIUM,
        Status.FAIL,
        DEPLOYMENT,
        f"the grace period is {of.grace_s} s{_by(of.grace_by)}; the add-on has no key for it, and an update with "
        f"OVERWRITE puts it back to {DEFAULT_GRACE_S} s",
        remedy=(
            Remedy(
                "Look before each update what it takes back, and set it again after.",
                "kubectl eksdoc addon-diff coredns",
                When.TOMORROW,
            ),
        ),
    )


def _by(owner: str) -> str:
    return f" (set by {owner})" if owner and owner != EKS else ""


def _corefile(facts: DnsFacts) -> Iterator[Finding]:
    from_values = facts.configured_corefile
    text = facts.text
    if not isinstance(text, str) or isinstance(from_values, Unknown):
        return
    owner = facts.corefile_by
    if from_values == text or (from_values is None and owner in ("", EKS)):
        return
    advised = ending(facts).advised_s
    what = "another one is in its configuration" if from_values is not None else "it is not in its configuration"
    yield Finding(
        codes.FOREIGN_COREFILE,
        Severity.MEDIUM,
        Status.FAIL,
        CONFIG,
        f"the Corefile was changed by hand{_by(owner)}, and {what}: an update with OVERWRITE puts it back",
        remedy=(
            Remedy(
                "Give it to the add-on: what --set sends is the whole Corefile as it is, with that change.",
                set_to(advised) if advised else "",
                When.TOMORROW,
            ),
        ),
    )
