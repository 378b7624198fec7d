"""How DNS is to be measured: how long, how often, from which image, and what is done to CoreDNS meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Happening(str, Enum):
    """What is done while DNS is asked."""

    WATCH = "watch"  # nothing: the user does something elsewhere
    ROLLOUT = "rollout"  # the Deployment's pods are replaced, as by kubectl rollout restart
    EVICTION = "eviction"  # one pod is evicted, its budget respected

    @property
    def changes(self) -> bool:
        return self is not Happening.WATCH


IMAGE = "public.ecr.aws/docker/library/python:3.12-alpine"
"""Has Python from 3.10 on, and nodes in a region of the public partition can pull it without credentials."""

NAMESPACE = "default"
QUESTION = "kubernetes.default.svc.cluster.local."
"""CoreDNS answers for names below it by itself: what is upstream is not measured. They exist nowhere, so no cache knows
them."""

RATE = 10.0
TIMEOUT_S = 5.0
LATE_S = 1.0
"""resolv.conf(5): a resolver waits 5 s by default. That an answer is late after one is this tool's choice."""

WATCH_S, CHANGE_S = 60.0, 180.0
BEFORE_S = 5.0
"""So long is asked before anything is done: what is lost then is not for the leaving of a pod."""
AFTER_S = 10.0
"""And after the last pod has gone: kube-proxy hears of it within 1 to 10 s (EKS best practices, cluster services)."""
LONGEST_FOR_S, LONGEST_WAIT_S, LONGEST_TIMEOUT_S = 900.0, 600.0, 30.0
MOST_A_SECOND = 2000
"""Questions of each pod, as the asker has it: more is no measurement, it is a flood."""

_SETTLED_S = 2.0
_MARGIN_S = 60


@dataclass(frozen=True, slots=True)
class Manner:
    """Seconds; `rate`: questions a second to each address over each transport; `for_s`: how long is asked at most once
    every pod runs; `wait_s`: so long the pods are waited for, images that are pulled included."""

    happening: Happening = Happening.WATCH
    for_s: float = WATCH_S
    rate: float = RATE
    timeout_s: float = TIMEOUT_S
    image: str = IMAGE
    namespace: str = NAMESPACE
    wait_s: float = 120.0

    @property
    def settle_s(self) -> float:
        """After the end, until the last second is told of."""
        return self.timeout_s + _SETTLED_S

    @property
    def asking_s(self) -> float:
        """The asker's own deadline: the first pod to run waits for the last one, too."""
        return self.wait_s + BEFORE_S + self.for_s + self.settle_s

    @property
    def deadline_s(self) -> int:
        """After so long the kubelet ends a pod of which nobody took care: pulling its image counts."""
        return int(self.wait_s + self.asking_s + self.settle_s) + _MARGIN_S


OLD_S = int(2 * (LONGEST_WAIT_S + LONGEST_TIMEOUT_S) + LONGEST_FOR_S) + 2 * _MARGIN_S
"""What is older than any measurement may take was left by one that was killed."""
