"""What must be typed before anything is changed: the cluster's short name and the number of nodes.

A name typed back says which cluster is meant, and a number that the plan was read; an Enter says neither. `--yes`
stands for both only together with the expectation, so that a script that was written for another plan does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import Drifted, UsageError

if TYPE_CHECKING:  # the first paint must not pay for facts
    from kubectl_eksdoc.core.model.cluster import Identity

Ask = Callable[[str], str]
"""Asks whoever sits at the terminal and gives what was typed. Raises UsageError: nobody sits there."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line says in place of what is typed; `expect` None: nothing."""

    yes: bool = False
    expect: int | None = None


def name_of(who: Identity) -> str:
    """The EKS cluster's short name; of another cluster its context's last part, which is a name, too."""
    return who.cluster or who.context.rpartition("/")[2]


def confirm(who: Identity, nodes: int, what: str, given: Given, ask: Ask, also: Sequence[str] = ()) -> None:
    """`what` is done to so many nodes, as in ``drain``; each of `also` must be typed back, too.

    Raises:
        Drifted: the expectation is wrong; nothing was done.
        UsageError: what was typed is something else, or nobody can be asked.
    """
    if given.expect is not None and given.expect != nodes:
        raise Drifted(
            f"--expect-nodes {given.expect} is wrong: this would {what} {nodes}",
            "Nothing was done. Read the plan again; something has changed since the number was written down.",
        )
    if given.yes and given.expect is None:
        raise UsageError(
            "--yes needs the expectation: how many nodes it is about",
            f"Add --expect-nodes {nodes} if that is what the plan says that you have read.",
        )
    if not given.yes:
        typed_back(f"{name_of(who)} {nodes}", f"to {what} {_counted(nodes)} of {name_of(who) or 'this cluster'}", ask)
    for word in also:
        typed_back(word, f"to delete {word} past its budget", ask)


def typed_back(wanted: str, why: str, ask: Ask) -> None:
    """Raises UsageError: what was typed is something else, or nobody can be asked."""
    wanted = wanted.strip()
    typed = ask(f"Type {wanted!r} {why}, anything else to leave it: ")
    if typed.split() != wanted.split():
        raise UsageError(f"what was typed is not {wanted!r}", "Nothing was done.")


def _counted(nodes: int) -> str:
    return "1 node" if nodes == 1 else f"{nodes} nodes"
