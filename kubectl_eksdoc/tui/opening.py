"""What the terminal user interface is given when it is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the first paint must not pay for facts and plans
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.plan.drain.policy import Targeting

Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Opening:
    """`read` reads the cluster and may be called again, from another thread; it may raise EksdocError. `targeting`:
    what is marked at first; `reached_by`: the words that lead to the same cluster on a command line; `plain`: without
    colours; `keys`: the user's own, by the names of the actions; `wrong`: what of the user's settings is not
    followed, a sentence each."""

    read: Callable[[Progress], Cluster]
    targeting: Callable[[], Targeting]
    reached_by: Callable[[Cluster], tuple[str, ...]]
    now: Callable[[], datetime]
    ascii: bool = False
    plain: bool = False
    light: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()
