"""Containers of single pods: with what they were started, how they fare, and what they printed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

TOLD_VARIABLES = frozenset(
    {
        "AWS_EC2_METADATA_DISABLED",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "ENABLE_SQS_TERMINATION_DRAINING",
        "EXTERNAL_DNS_PROVIDER",
        "NRIA_DISABLE_CLOUD_METADATA",
        "RUN_WITH_IRSA",
        "RUN_IN_CONTAINER",
    }
)
"""The only variables whose values are looked at: any other may be a secret. Of others it is seen if they are empty."""


class Runs(Enum):
    """What the kubelet says of a container."""

    RUNNING = "running"
    WAITING = "waiting"
    ENDED = "ended"
    UNTOLD = ""


@dataclass(frozen=True, slots=True)
class Container:
    """`arguments`: of its command and after it, as its pod has them (what the image says itself is not known);
    `variables`: names. `more_variables`: others come from a ConfigMap or a Secret as a whole (envFrom), and their names
    are not known. `ended_before`: it is not the first one of its name in this pod; `ended_as` is the kubelet's reason
    for the end of the one before, or of this one if it has ended (``OOMKilled``), "" where there was none. `init`: an
    init container. `values`: of the variables in `TOLD_VARIABLES`, and of empty ones, if the pod has them itself."""

    name: str
    image: str = ""
    arguments: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    more_variables: bool = False
    runs: Runs = Runs.UNTOLD
    ready: bool = False
    ended_before: bool = False
    ended_as: str = ""
    restarts: int = 0
    init: bool = False
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class LogOf:
    """Which log; `previous`: of the one of that name which ended."""

    namespace: str
    pod: str
    container: str
    previous: bool = False
