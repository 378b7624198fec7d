"""What extends the API: groups that other servers answer for, and custom resources with their versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Callee:
    """Whom the API server calls: a Service, or what is at `url` ("" for a Service)."""

    namespace: str = ""
    service: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class ApiService:
    """A group version. `service` is None where the API server answers itself. `available` is the status of its
    condition of that name, "" without one; `reason` and `message` are the condition's."""

    name: str
    group: str
    version: str
    service: Callee | None = None
    available: str = ""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class DefinedVersion:
    name: str
    served: bool = False
    deprecated: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """A CustomResourceDefinition. `converter` is None where nobody is called to convert its objects; `stored` are the
    versions in which some of them may lie in etcd (status.storedVersions)."""

    name: str
    kind: str
    versions: tuple[DefinedVersion, ...] = ()
    stored: tuple[str, ...] = ()
    converter: Callee | None = None
