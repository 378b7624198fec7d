"""What is told of a pod while it is asked for again and again: that this goes on for too long to be chance."""

from __future__ import annotations

from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.run.answers import Trouble
from kubectl_eksdoc.core.run.pursuits import Pursuit

BEHIND_S = 300.0
"""A budget whose controller is behind for so long is a matter for whoever runs the control plane."""

DOUBTS = 3
"""So many answers in a row may tell nothing of one pod's eviction."""


def alarm(pursuit: Pursuit, now_s: float, blocked_s: float) -> str:
    """As a clause of the pod; "" while there is none. `blocked_s`: so long after the first it is given up."""
    trouble, times, since_s = pursuit.row
    if trouble is Trouble.BUDGET_BEHIND and now_s - since_s >= BEHIND_S:
        whose = f"budget {pursuit.eviction.budget}" if pursuit.eviction.budget else "its budget"
        return f"the controller of {whose} has been behind for {in_words(now_s - since_s)}: {pursuit.said}"
    if trouble is Trouble.SERVER and times >= DOUBTS:
        then = f"it is asked for ever more slowly, and given up if that goes on for {in_words(blocked_s)}"
        return f"{times} answers in a row tell nothing of whether it goes: {pursuit.said}; {then}"
    return ""
