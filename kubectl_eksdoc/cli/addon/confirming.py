"""What must be typed before EKS is asked for an update: the cluster and how many fields change; and what weighs most.

As with runs: `--yes` stands for the first only together with the expectation. What is critical, or taken away as a
whole, is typed back by add-on and version whatever `--yes` says; what is unknown, unless `--accept-unknown` names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from kubectl_eksdoc.cli.confirming import Ask, CountedThing, ExpectedCount, as_expected, explained, typed_back

if TYPE_CHECKING:
    from kubectl_eksdoc.model.findings import Finding

ASKS_EKS_NOTHING = (
    "a dry run sends nothing to EKS: whether EKS accepts the values, and which fields conflict, is predicted only"
)
IN_A_SCRIPT = (
    "In a script: --yes --expect-changes N, with the number of fields that change by the plan that you have read, and "
    "--accept-unknown CODE,… for what may be unknown."
)


FIELDS = CountedThing("field", "fields", "--expect-changes", "changes")


class _Given(ExpectedCount, Protocol):
    """Of the command line, with what is accepted beforehand."""

    @property
    def accepted(self) -> tuple[str, ...]: ...


def confirm(
    cluster: str,
    acknowledgement: str,
    changes: int,
    weighty: Sequence[Finding],
    given: _Given,
    ask: Ask,
) -> None:
    """`acknowledgement`: the add-on and its target, as they are typed back.

    Raises:
        Drifted: the expectation is wrong; nothing was done.
        UsageError: what was typed is something else, or nobody can be asked.
    """
    as_expected(given, changes, "change", FIELDS)
    asked = explained(ask, IN_A_SCRIPT)
    left = still(weighty, given.accepted)
    if left:
        count = "1 finding" if len(left) == 1 else f"{len(left)} findings"
        typed_back(acknowledgement, f"to acknowledge {count} that must not be passed over", asked)
    if not given.yes:
        what = f"to update {acknowledgement.split()[0]} of {cluster}, which changes {FIELDS.said(changes)}"
        typed_back(f"{cluster} {changes}", what, asked)


def still(weighty: Sequence[Finding], accepted: Sequence[str]) -> list[Finding]:
    """Those that are not accepted beforehand: only what is unknown can be."""
    from kubectl_eksdoc.model.findings import Status

    return [each for each in weighty if each.status is not Status.UNKNOWN or each.code.name not in accepted]
