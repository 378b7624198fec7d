"""Which plugins and options CoreDNS has had, in which versions, and what they take."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version, parse

OLDEST, NEWEST = Version(1, 1, 3), Version(1, 14, 2)
"""Outside of these versions nothing is claimed."""


@frozen
class PluginForm:
    """`form` and `options` as the file explains them."""

    form: str
    source: KnowledgeSource
    options: tuple[str, ...] = ()
    unknown: str | None = None


_FORMS = records(PluginForm, "corefile_plugins")


@frozen
class KnownPlugin:
    """A plugin or an option of one. `arguments` None: not judged. `unknown`: CoreDNS' words for an unknown option, None
    where they are not claimed."""

    name: str
    arguments: tuple[str, ...] | None
    since: Version = OLDEST
    until: Version = NEWEST
    options: tuple[KnownPlugin, ...] = ()
    once: bool = False
    required: bool = False
    inline: bool = False
    unknown: str | None = None

    @property
    def by_code(self) -> bool:
        return self.arguments == ("!",)

    def known_to(self, version: Version) -> bool:
        return not version.older_than(self.since) and not self.until.older_than(version)


@cache
def plugins() -> dict[str, KnownPlugin]:
    """By name, in their order."""
    found = (
        replace(_takes(each.form), options=tuple(map(_takes, each.options)), unknown=each.unknown) for each in _FORMS
    )
    return {each.name: each for each in found}


def _takes(line: str) -> KnownPlugin:
    name, *words = line.split()
    since, until = OLDEST, NEWEST
    for each in words:
        if each.startswith("@"):
            begins, _, ends = each[1:].partition("..")
            since, until = _version(begins, OLDEST), _version(ends, NEWEST)
    arguments = tuple(each for each in words if not each.startswith("@") and each not in _MARKS)
    once, required, inline = (each in words for each in _MARKS)
    return KnownPlugin(name, None if arguments == ("?",) else arguments, since, until, (), once, required, inline)


_MARKS = ("once", "required", "inline")


def _version(text: str, other: Version) -> Version:
    return parse(text) or other
