"""Whether anything may be changed, and what must be typed first: the cluster's short name and the number of nodes.

A name typed back says which cluster is meant, and a number that the plan was read; an Enter says neither. `--yes`
stands for both only together with the expectation, so that a script that was written for another plan does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from kubectl_eksdoc.errors import Drifted, UsageError
from kubectl_eksdoc.frozen import frozen

if TYPE_CHECKING:  # the first paint must not pay for facts
    from kubectl_eksdoc.model.cluster import Identity

P = ParamSpec("P")
T = TypeVar("T")


# Whether anything may be changed from this environment.


READ_ONLY = "EKSDOC_READ_ONLY"

_OFF = ("", "0", "false", "no", "off")


def check_writable(environ: Mapping[str, str], what: str, instead: str = "drain plan and rehearse read only") -> None:
    """`instead`: what reads only, a clause.

    Raises:
        UsageError: the environment refuses every change.
    """
    if environ.get(READ_ONLY, "").strip().lower() not in _OFF:
        raise UsageError(
            f"{what} changes the cluster, and {READ_ONLY} is set in the environment",
            f"Unset {READ_ONLY} for this command if you mean it; {instead}.",
        )


Ask = Callable[[str], str]
"""Asks whoever sits at the terminal and gives what was typed. Raises UsageError: nobody sits there."""


@frozen
class ConfirmationFlags:
    """What the command line says in place of what is typed; `expect` None: nothing."""

    yes: bool = False
    expect: int | None = None


def name_of(who: Identity) -> str:
    """The EKS cluster's short name; of another cluster its context's last part, which is a name, too."""
    return who.cluster or who.context.rpartition("/")[2]


@frozen
class CountedThing:
    """What is counted and typed back, and the flag that expects a number of it; `expected`: as that is called."""

    one: str
    many: str
    flag: str
    expected: str = ""

    def said(self, count: int) -> str:
        return f"1 {self.one}" if count == 1 else f"{count} {self.many}"


NODES = CountedThing("node", "nodes", "--expect-nodes", "nodes")
CHANGES = CountedThing("pod", "pods", "--expect-changes", "changes")


def confirm(
    who: Identity,
    count: int,
    what: str,
    given: ConfirmationFlags,
    ask: Ask,
    also: Sequence[str] = (),
    of: CountedThing = NODES,
) -> None:
    """`what` is done to so many nodes (or what `of` says), as in ``drain``; each of `also` must be typed back, too.

    Raises:
        Drifted: the expectation is wrong; nothing was done.
        UsageError: what was typed is something else, or nobody can be asked.
    """
    as_expected(given, count, what, of)
    asked = explained(ask, _in_script(of))
    if not given.yes:
        typed_back(f"{name_of(who)} {count}", f"to {what} {of.said(count)} of {name_of(who) or 'this cluster'}", asked)
    for word in also:
        typed_back(word, f"to delete {word} past its budget", asked)


def as_expected(given: ConfirmationFlags, count: int, what: str, of: CountedThing) -> None:
    """
    Raises:
        Drifted: another number was expected; nothing was done.
        UsageError: `--yes` stands alone.
    """
    if given.expect is not None and given.expect != count:
        raise Drifted(
            f"{of.flag} {given.expect} is wrong: this would {what} {of.said(count)}",
            "Nothing was done. Read the plan again; something has changed since the number was written down.",
        )
    if given.yes and given.expect is None:
        raise UsageError(
            f"--yes needs the expectation: how many {of.many} it is about",
            f"Add {of.flag} {count} if that is what the plan says that you have read.",
        )


def check_answerable(given: ConfirmationFlags, check_terminal: Callable[[], object], of: CountedThing = NODES) -> None:
    """Before anything is read. Raises UsageError: it has to be confirmed, and nobody can be asked."""
    if not given.yes:
        explained(check_terminal, _in_script(of))()


def _in_script(of: CountedThing) -> str:
    return f"In a script: --yes {of.flag} N, with the number of {of.many} of the plan that you have read."


def explained(ask: Callable[P, T], otherwise: str) -> Callable[P, T]:
    """`ask`, whose error says what to do `otherwise` where nobody can be asked."""

    def asked(*args: P.args, **more: P.kwargs) -> T:
        try:
            return ask(*args, **more)
        except UsageError as error:
            raise UsageError(error.message, otherwise) from error

    return asked


def typed_back(wanted: str, why: str, ask: Ask) -> None:
    """Raises UsageError: what was typed is something else, or nobody can be asked."""
    wanted = wanted.strip()
    typed = ask(f"Type {wanted!r} {why}, anything else to leave it: ")
    if typed.split() != wanted.split():
        raise UsageError(f"what was typed is not {wanted!r}", "Nothing was done.")
