"""How a manifest is brought to another API version: kubectl convert, and what it leaves to people."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.amazon.upgrades.removed_apis import RemovedApi
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.knowledge import KnowledgeSource, file, records

PLUGIN = "kubectl convert is a plugin of its own (kubectl-convert)"


def convert(file: str, api_version: str) -> str:
    """The command that prints the manifests of a file in that version."""
    return shell("kubectl", "convert", "-f", file, "--output-version", api_version)


@dataclass(frozen=True, slots=True)
class ManualConversion:
    """Of the `kinds` in the `api_versions`: `what` convert cannot know, a sentence; `fields` that it is about."""

    kinds: tuple[str, ...]
    api_versions: tuple[str, ...]
    what: str
    source: KnowledgeSource
    fields: tuple[str, ...] = ()


_BY_HAND = records(ManualConversion, "conversions")
_UNREGISTERED = frozenset(file("conversions")["unregistered"])
"""Groups that the scheme of kubectl-convert does not have: of their kinds it says 'no kind is registered'."""


def by_hand(row: RemovedApi) -> tuple[ManualConversion, ...]:
    """What is left to people after convert; none where it suffices, as far as the guide says."""
    return tuple(each for each in _BY_HAND if row.kind in each.kinds and row.api_version in each.api_versions)


def convertible(row: RemovedApi) -> bool:
    """Whether kubectl convert does anything about it: it must be an object, and something must replace it."""
    return bool(row.resource and row.replacement) and row.kind != "PodSecurityPolicy" and row.group not in _UNREGISTERED
