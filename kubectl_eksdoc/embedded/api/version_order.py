"""In which order a group lists its versions, and which of them it prefers."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?\Z")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


def preference(version: str) -> tuple[bool, tuple[int, int, int], str]:
    """A key that sorts versions as discovery prefers them: ``v2``, ``v1``, ``v1beta1``, ``v1alpha1``, then all others.

    As ``CompareKubeAwareVersionStrings`` (apimachinery, pkg/version/helpers.go): released before beta before alpha,
    then by number, and what is no such version comes last, in the order of the alphabet.
    """
    match = _VERSION.match(version)
    if match is None:
        return True, (0, 0, 0), version
    major, stability, minor = match.groups()
    return False, (-_STABILITY[stability], -int(major), -int(minor or 0)), ""
