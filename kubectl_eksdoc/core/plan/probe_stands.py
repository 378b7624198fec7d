"""What is to be made of a probe's pod as it stands: its log is to be read, it is to be waited for, or it will not run.

A pod that did not run says nothing of what it was to ask. Reasons as the kubelet has them: pkg/kubelet/lifecycle/
predicate.go (OutOfcpu …, TaintToleration), pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go,
pkg/kubelet/active_deadline.go (DeadlineExceeded).
"""

from __future__ import annotations

from enum import Enum

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.probe_pods import PodStand

_NO_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
_NO_START = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError")
_LONGEST = 300


class Now(Enum):
    READ = "its log can be read"
    WAIT = "it is not yet over"


def stand_of(stand: PodStand | None) -> Now | Unknown:
    """None: it is not in the cluster any more."""
    if stand is None:
        return Unknown("somebody deleted the pod before it had told anything")
    if stand.ended is not None and stand.phase != "Failed":
        return Now.READ
    if stand.phase == "Failed":
        return _failed(stand)
    if stand.waiting in _NO_IMAGE:
        return Unknown(_with("its image cannot be pulled", stand.waiting, stand.waiting_message))
    if stand.waiting in _NO_START:
        return Unknown(_with("its container cannot be started", stand.waiting, stand.waiting_message))
    return Now.WAIT


def _failed(stand: PodStand) -> Now | Unknown:
    if stand.reason.startswith("OutOf"):
        return Unknown(_with("the node has no room for it", stand.reason, stand.message))
    if stand.reason:
        return Unknown(_with("the kubelet refused or ended it", stand.reason, stand.message))
    if stand.ended_by in _NO_START:
        return Unknown(_with("its container cannot be started", stand.ended_by, stand.message))
    return Now.READ if stand.ended is not None else Unknown(_with("it failed", stand.reason, stand.message))


def too_late(stand: PodStand | None, waited_s: float) -> Unknown:
    """It was waited for as long as was asked for."""
    since = f"after {waited_s:.0f} s"
    if stand is None:
        return Unknown(f"nothing was heard of it {since}")
    if stand.waiting:
        return Unknown(_with(f"its container has not started {since}", stand.waiting, stand.waiting_message))
    if stand.phase == "Pending":
        return Unknown(_with(f"the kubelet has not begun with it {since}", stand.reason, stand.message))
    return Unknown(_with(f"it has not ended {since}", stand.reason, stand.message))


def _with(why: str, reason: str, message: str) -> str:
    said = " ".join(message.split())[:_LONGEST]
    return f"{why} ({': '.join(filter(None, (reason, said)))})" if reason or said else why
