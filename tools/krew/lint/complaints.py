"""A part of a plugin that a component refuses, and its place."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.model.findings import Code

_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Complaint:
    """`at`: the field of the manifest, as ``spec.platforms[0].uri``, or "". `what`: a sentence without its full stop;
    `remedy`: a sentence with the fix. `advice`: it works all the same."""

    code: Code
    at: str
    what: str
    remedy: str
    advice: bool = False


def quoted(text: str) -> str:
    """`text` as part of a sentence, shortened where it is long."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
