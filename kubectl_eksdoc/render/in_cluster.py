"""Kubernetes objects as they are given to kubectl, below what says in words what they do and how they go away."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.plan.in_cluster.errand import Errand
from kubectl_eksdoc.core.plan.in_cluster.objects import KINDS
from kubectl_eksdoc.render.encode import Json, to_json, to_yaml
from kubectl_eksdoc.render.text import clean


@dataclass(frozen=True, slots=True)
class Step:
    """What may be done, in a few words, and the command that does it."""

    text: str
    command: str


@dataclass(frozen=True, slots=True)
class Manifests:
    """`about`: sentences that say what this is. `docs` in the order in which they are created."""

    about: tuple[str, ...]
    steps: tuple[Step, ...]
    docs: tuple[Doc, ...]

    @property
    def head(self) -> tuple[str, ...]:
        """Lines without what a terminal would act on, or what would end a comment."""
        about = (part for each in self.about for part in _folded(_line(each)))
        return (*about, "", *self.rows)

    @property
    def rows(self) -> tuple[str, ...]:
        """The steps alone, as such lines."""
        width = max((len(step.text) for step in self.steps), default=0)
        return tuple(_line(f"{step.text.ljust(width)}  {step.command}") for step in self.steps)


_WIDEST = 110


def _folded(line: str) -> list[str]:
    """Commands are not folded: they are rows of their own."""
    return textwrap.wrap(line, _WIDEST, break_long_words=False, break_on_hyphens=False) or [line]


def _line(text: str) -> str:
    return clean(" ".join(text.splitlines()))


def as_yaml(what: Manifests, ascii_only: bool = False) -> str:
    head = "".join(f"# {line}".rstrip() + "\n" for line in what.head)
    texts = (to_yaml(cast(Json, doc), ascii_only) for doc in what.docs)
    return head + "".join(f"---\n{text}" for text in texts)


def as_json(what: Manifests, ascii_only: bool = False) -> str:
    """A List, as kubectl prints several objects: there is no place for words in it."""
    items = cast(Json, list(what.docs))
    return to_json({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}, ascii_only)


def taken_away(errand: Errand, reached_by: Sequence[str]) -> str:
    """The command that deletes all objects of an errand and nothing else; the journal of a run stays."""
    return shell("kubectl", "delete", ",".join(KINDS), "-A", "-l", errand.selector, *reached_by)


MOST_PODS = 20
"""More than an errand that is done once may have, one after the other; kubectl follows five unless it is told."""


def logs(errand: Errand, reached_by: Sequence[str], follow: bool) -> str:
    """`follow`: of what runs just now. What has ended again and again has too many pods for kubectl to follow them."""
    how = ("-f", f"--max-log-requests={MOST_PODS}") if follow else ("--prefix",)
    words = ("-n", errand.namespace, "-l", errand.selector, *how, "--tail=-1")
    return shell("kubectl", "logs", *words, *reached_by)
