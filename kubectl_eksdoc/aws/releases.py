"""Which release of an AMI EKS recommends, by the public parameters of Systems Manager."""

from __future__ import annotations

from kubectl_eksdoc.aws.asking import Json, found, name_of
from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.rules.upgrades.amis import AMIS

_PARAMETERS = {kind: name for each in AMIS.values() for kind, name in each.parameters}


def parameter_of(ami_type: str, version: str) -> str:
    """The name of the parameter, "" where there is none: Windows, images of one's own, types nobody here knows."""
    return _PARAMETERS.get(ami_type, "").format(version=version)


def release(of: Believed, ami_type: str, version: str) -> str | Absent | Unknown:
    """As node groups call it: ``1.33.5-20251106``."""
    name = parameter_of(ami_type, version)
    if not name:
        return Unknown(f"no public parameter tells the releases of {ami_type or 'its AMI'}")
    told = found(of.aws, questions.PARAMETER, {"Name": name}, lambda said: _value(said["Parameter"]))
    return Absent(f"Systems Manager has no parameter {name}") if isinstance(told, Absent) else told


def _value(said: Json) -> str:
    return name_of(said, "Value")
