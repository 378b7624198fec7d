"""Container images as references: their repository's last part, and the version that a tag tells.

Source of the form: distribution/reference, reference.go (domain/path:tag@digest).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.versions import Version, parse

_T = TypeVar("_T")


def repository(image: str) -> str:
    """Without registry, tag and digest: ``argoproj/argocd`` of ``quay.io/argoproj/argocd:v3.1.0``."""
    path = _untagged(image)
    first, slash, rest = path.partition("/")
    registry = slash and ("." in first or ":" in first or first == "localhost")
    return rest if registry else path


def by_image(table: Mapping[str, _T], image: str) -> _T | None:
    """Of a table by ends of repositories, whole parts of them: ``argoproj/argocd``, ``coredns``."""
    parts = repository(image).split("/")
    ends = ("/".join(parts[at:]) for at in range(len(parts)))
    return next((table[end] for end in ends if end in table), None)


def tag_of(image: str) -> str:
    """ "" where it has none."""
    name = image.partition("@")[0].rpartition("/")[2]
    return name.partition(":")[2]


def version_of(image: str) -> Version | Unknown:
    """What its tag says: ``v1.12.6-eksbuild.1``, ``2.4.7``. Others (``latest``, a commit, none) tell nothing."""
    tag = tag_of(image)
    if not tag:
        return Unknown(f"the image {image} has no tag")
    return parse(tag) or Unknown(f'the tag "{tag}" of the image is no version')


def _untagged(image: str) -> str:
    path = image.partition("@")[0]
    before, slash, name = path.rpartition("/")
    return f"{before}{slash}{name.partition(':')[0]}"
