"""Names, ids and times in the demo's account, computed, so that a reference does not need the object."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from tools.demo.meta import NOW, hexadecimal
from tools.demo.world import ACCOUNT, CLUSTER, MACHINES, REGION, SERVER_VERSION

Params = Mapping[str, Any]

VERSION = SERVER_VERSION.removeprefix("v")
"""The version of the control plane, as EKS writes it."""

ZONES = tuple(sorted({machine.zone for machine in MACHINES}))

NODE_ROLE = f"{CLUSTER}-node"
"""The EC2NodeClass has the same."""


def at(minutes: float) -> datetime:
    """The time `minutes` before the demo's, in UTC."""
    return NOW - timedelta(minutes=minutes)


def day(text: str) -> datetime:
    """The beginning of a day, ``2026-07-29``, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def arn(service: str, rest: str) -> str:
    """The ARN of a resource in the demo's account and region."""
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{rest}"


def role(name: str) -> str:
    """The ARN of an IAM role."""
    return f"arn:aws:iam::{ACCOUNT}:role/{name}"


def an_id(kind: str, *parts: object) -> str:
    """An id in the form of EC2, ``subnet-0123456789abcdef0``, the same for the same `parts`."""
    return f"{kind}-{hexadecimal(17, kind, *parts)}"


def subnet_of(zone: str) -> str:
    """The id of the only subnet in the zone."""
    return an_id("subnet", zone)


CLUSTER_GROUP = an_id("sg", CLUSTER)
"""The security group that EKS created for the cluster and assigns to its nodes."""
