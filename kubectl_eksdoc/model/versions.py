"""Kubernetes versions as people and kubelets write them: ``v1.33``, ``1.33.1``, ``v1.33.1-eks-1b3e656``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:[-+].*)?\Z")


@dataclass(frozen=True, slots=True)
class Version:
    """`patch` is None where only a minor was named; it sorts before all versions of that minor."""

    major: int
    minor: int
    patch: int | None = None

    def __lt__(self, other: Version) -> bool:
        return self._sorted_by < other._sorted_by

    @property
    def _sorted_by(self) -> tuple[int, int, int]:
        return self.major, self.minor, -1 if self.patch is None else self.patch

    def older_than(self, other: Version) -> bool:
        """True when this kubelet is older than `other`; without a patch there, by minor only."""
        mine, theirs = (self.major, self.minor), (other.major, other.minor)
        if mine != theirs or other.patch is None:
            return mine < theirs
        return (self.patch or 0) < other.patch

    def __str__(self) -> str:
        text = f"v{self.major}.{self.minor}"
        return text if self.patch is None else f"{text}.{self.patch}"


def parse(text: str) -> Version | None:
    """The version in `text`, or None when it is not one."""
    match = _VERSION.match(text.strip())
    if not match:
        return None
    major, minor, patch = match.groups()
    return Version(int(major), int(minor), None if patch is None else int(patch))
