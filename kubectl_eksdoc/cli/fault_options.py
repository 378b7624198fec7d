"""The options of ``rehearse`` that make things go wrong on purpose, and the list of what there is."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.wiring.stages import Faults

LIST = "list"
"""In the place of a fault: show all of them."""


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("What goes wrong on purpose")
    group.add_argument(
        "--fault",
        type=_fault,
        action="append",
        default=[],
        metavar="NAME[=VALUE][@SHARE]",
        help=f"a fault by its name, as slow=2s@5%%; may be repeated; {LIST}: show all of them",
    )
    group.add_argument(
        "--fault-seed",
        type=_seed,
        default=0,
        metavar="N",
        help="another chance for shares and for what is hit; the same number gives the same faults (default: 0)",
    )


def faults_from(args: argparse.Namespace) -> Faults:
    """
    Raises:
        UsageError: a fault is of clients, and there are none, or of the rehearsal, and there is none.
    """
    from kubectl_eksdoc.embedded.faults.registry import parse

    for text in args.fault:
        named = parse(text).named
        if named.of_requests and not args.serve:
            raise UsageError(f"--fault {text} is met by clients, and only --serve has some")
        if named.rehearsed_only and args.serve:
            raise UsageError(f"--fault {text} is for rehearsals: in a served cluster no node joins by itself anyway")
    return Faults(tuple(args.fault), args.fault_seed)


def wants_list(args: argparse.Namespace) -> bool:
    return LIST in args.fault


def listed(look: Look) -> str:
    """Each fault as it is typed, what it does, what holds unless said otherwise, and of what a share is."""
    from kubectl_eksdoc.embedded.faults.named import ONCE_AT_S
    from kubectl_eksdoc.embedded.faults.registry import ALL
    from kubectl_eksdoc.render.tables import Column, plain
    from kubectl_eksdoc.render.text import wrap

    columns = [
        Column("FAULT"),
        Column("DEFAULT", drop=1),
        Column("WHAT GOES WRONG", floor=30, lines=4),
        Column("@SHARE OF"),
    ]
    rows = [[each.shown, each.default_shown or "-", each.about, each.of.value] for each in ALL]
    told = (
        "NAME@5%: in five of a hundred, by chance; without it in all. What comes in virtual minutes may have its time "
        f"instead, as NAME@90s from the start; without either it comes once, after {ONCE_AT_S:g} s. Faults of requests "
        "need --serve. Of PODS, NAMESPACE/NAME, a * stands for any text."
    )
    return "\n".join([*plain(columns, rows, look), "", *wrap(told, look.columns)]) + "\n"


def as_given(faults: Faults) -> dict[str, object]:
    """By the names of the flags, nothing where none was given."""
    return {"fault": list(faults.texts), "fault-seed": faults.seed} if faults.texts else {}


def _fault(text: str) -> str:
    from kubectl_eksdoc.embedded.faults.registry import parse

    if text != LIST:
        try:
            parse(text)
        except UsageError as error:
            raise UsageError(f"--fault: {error.message}", error.hint) from error
    return text


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; write a whole number, 0 or more")
    return int(text)
