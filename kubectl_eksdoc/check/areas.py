"""The areas that checks are about, and the gates of an upgrade at which they count."""

from __future__ import annotations

from enum import Enum


class Area(str, Enum):
    """In the order in which they are shown."""

    SUPPORT = "support"
    CONTROL_PLANE = "control plane"
    APIS = "APIs"
    EXTENSIONS = "extensions of the API"
    ADDONS = "add-ons and controllers"
    NODES = "nodes"
    RUNTIME = "container runtime"
    CAPACITY = "addresses and quotas"
    DISRUPTION = "disruption"
    WORKLOADS = "workloads"
    CREDENTIALS = "credentials"
    DNS = "DNS"
    INTERRUPTION = "interruption"

    @property
    def flag(self) -> str:
        """What ``--area`` takes: ``control-plane``."""
        return self.name.lower().replace("_", "-")


class Gate(str, Enum):
    """A step of an upgrade, which what fails at it keeps from being done."""

    BEFORE_CONTROL_PLANE = "before-control-plane"
    BEFORE_NODES = "before-nodes"
    AFTER = "after"
