"""What the terminal user interface is given when it is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the first paint must not pay for facts and plans
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.plan.drain.policy import Targeting
    from kubectl_eksdoc.core.run.recording import Recording
    from kubectl_eksdoc.tui.run.desk import Desk

Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Opening:
    """`read` reads the cluster and may be called again, from another thread; it may raise EksdocError. `targeting`:
    what is marked at first; `reached_by`: the words that lead to the same cluster on a command line; `plain`: without
    colours. `desk`: where runs are begun, None where nothing can be changed, for the reason `no_desk`."""

    read: Callable[[Progress], Cluster]
    targeting: Callable[[], Targeting]
    reached_by: Callable[[Cluster], tuple[str, ...]]
    now: Callable[[], datetime]
    ascii: bool = False
    plain: bool = False
    light: bool = False
    desk: Desk | None = None
    no_desk: str = ""


@dataclass(frozen=True, slots=True)
class Again:
    """A run that is shown again: `path` is the file in which it was written down."""

    recording: Recording
    path: str
    ascii: bool = False
    plain: bool = False
    light: bool = False
