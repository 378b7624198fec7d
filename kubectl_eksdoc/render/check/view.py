"""What is shown of a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__

if TYPE_CHECKING:  # manifests alone are beside nothing earlier
    from kubectl_eksdoc.baseline.changes import Since
    from kubectl_eksdoc.check.plan import CheckPlan


@dataclass(frozen=True, slots=True)
class CheckView:
    """`options` as they were given; `recognised`: how it is known that AWS describes the cluster that was read.
    `since`: beside an earlier check, None where none was given."""

    plan: CheckPlan
    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__
    since: Since | None = None
