"""Which codes of one check hang together: what a name given to ``--only`` asks for, and what is unknown with it."""

from __future__ import annotations

from collections.abc import Collection

from kubectl_eksdoc.check.checking import Check
from kubectl_eksdoc.model.check_needs import Need
from kubectl_eksdoc.model.findings import Finding, Status

AS_ONE = frozenset({Need.PLAN_DNS, Need.PLAN_INTERRUPTION})
"""Commands that judge one thing in many parts: whatever they do not know of it may be why they do not find another."""

_WHOLES = frozenset(("check-drain", "check-addons", "check-imds", "check-dns", "check-interruption"))
"""Codes that stand for all that another command says."""


def asked_of(check: Check, only: Collection[str]) -> frozenset[str]:
    """The codes of `check` that `only` names, all where it names none: what stands for a whole command asks for all
    of it."""
    every = frozenset(code.name for code in check.codes)
    named = every & frozenset(only)
    return every if not only or named & _WHOLES else named


def is_told(finding: Finding, check: Check, only: Collection[str]) -> bool:
    """Whether it is asked for, or not known, so that something may be hidden that is."""
    asked = asked_of(check, only)
    code = finding.code.name
    return code in asked or (finding.status is Status.UNKNOWN and any(code in kin_of(check, each) for each in asked))


def kin_of(check: Check, code: str) -> frozenset[str]:
    """What stays open for that code of `check` where one of these is unknown. By itself a code hides only its own."""
    # Imported late: a single code, as of manifests alone, must not pay for the plans of other commands.
    from kubectl_eksdoc.addon_diff.against import KIN as OF_ADDONS
    from kubectl_eksdoc.imds_probe.plan import KIN as OF_IMDS

    return _siblings(check) | OF_ADDONS.get(code, frozenset()) | OF_IMDS.get(code, frozenset())


def _siblings(check: Check) -> frozenset[str]:
    """DNS and interruption have codes that say for others that something was not read."""
    every = frozenset(code.name for code in check.codes)
    return every if AS_ONE & set(check.needs) else every & _WHOLES
