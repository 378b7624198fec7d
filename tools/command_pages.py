"""docs/commands/: a page for each command, from the parser that takes it and the rights that it registers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.main import tree
from kubectl_eksdoc.cli.parser import Formatter, Parser
from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.cli.rights import asked as lost
from tools.registry import ROOT
from tools.tables import code, named, table

FOLDER = ROOT / "docs" / "commands"
GUIDES: Mapping[str, tuple[str, ...]] = {
    "drain plan": ("drain-plan.md",),
    "drain run": ("drain-run.md", "in-cluster.md"),
    "drain status": ("drain-run.md", "screens.md"),
    "drain pause": ("drain-run.md",),
    "drain abort": ("drain-run.md",),
    "drain resume": ("drain-run.md",),
    "drain rollback": ("drain-run.md",),
    "rehearse": ("rehearse.md",),
    "check": ("check.md", "fleet.md", "in-cluster.md"),
    "addon-diff": ("addon-diff.md", "fleet.md"),
    "imds-probe": ("imds-probe.md", "imds-active-probe.md", "fleet.md"),
    "coredns-lameduck": ("coredns-lameduck.md", "coredns-change.md", "coredns-measure.md"),
    "interruption": ("interruption.md",),
    "snapshot": ("snapshot.md",),
}
"""What is told about a command at length."""

_SAME = {"drain rehearse": "rehearse"}
_RIGHTS_OF = {"completion install": "completion"}
_EVERYBODYS = {"permissions": "Nothing has to be granted: everybody may ask, by the ClusterRole `system:basic-user`."}
_MADE = "<!-- Generated from the parser and the registered rights by `make docs`. -->\n"
_NOTHING_WITHOUT = "nothing can be said or done: the command ends"


def pages() -> dict[Path, str]:
    """Every page of the folder, as it should be."""
    commands = {name: parser for name, parser in _leaves(tree(), ()) if name not in _SAME}
    made = {FOLDER / f"{name.replace(' ', '-')}.md": _page(name, parser) for name, parser in commands.items()}
    return made | {FOLDER / "README.md": _index(commands)}


def _leaves(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[tuple[str, Parser]]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below and isinstance(parser, Parser):
        yield " ".join(words), parser
    for action in below:
        for name, child in action.choices.items():
            yield from _leaves(child, (*words, name))


def _index(commands: Mapping[str, Parser]) -> str:
    rows = [
        (f"[{code(name)}]({name.replace(' ', '-')}.md)", _first_sentence(parser)) for name, parser in commands.items()
    ]
    return f"# Commands\n\n{_MADE}\n{table(('command', 'what it does'), rows)}"


def _first_sentence(parser: Parser) -> str:
    return re.split(r"(?<=\.)\s", " ".join((parser.description or "").split()), maxsplit=1)[0]


def _page(name: str, parser: Parser) -> str:
    about, _, examples = _said(parser.description, parser).partition("\nExamples:\n")
    parts = [f"# kubectl eksdoc {name}\n", _MADE, about.strip() + "\n"]
    parts.append(f"```text\n{_said(parser.usage, parser)}\n```\n")
    if name in GUIDES:
        links = ", ".join(f"[{page.removesuffix('.md')}](../{page})" for page in GUIDES[name])
        parts.append(f"At length, with what it prints: {links}.\n")
    if examples:
        lines = "\n".join(line.strip() for line in examples.strip().splitlines())
        parts.append(f"## Examples\n\n```sh\n{lines}\n```\n")
    parts += _flags(parser)
    ends = _said(parser.epilog, parser).partition("\nGlobal flags")[0].removeprefix("Exit codes: ").strip()
    if ends:
        parts.append(f"## Exit codes\n\n{ends}\n\nAll of them: [README](../../README.md#exit-codes).\n")
    parts += _rights(name)
    return "\n".join(parts)


def _said(text: str | None, parser: Parser) -> str:
    return (text or "").replace("%(prog)s", parser.prog).replace("%%", "%")


def _flags(parser: Parser) -> Iterator[str]:
    """A table for each group of the help."""
    shown = Formatter(parser.prog)
    head = "## Flags\n"
    for group in parser._action_groups:
        flags = [action for action in group._group_actions if action.option_strings and _is_shown(action)]
        rows = [(code(shown._format_action_invocation(flag)), _help(flag)) for flag in flags]
        if rows:
            title = "Also" if group.title == "options" else group.title or ""
            yield f"{head}\n### {title}\n\n{table(('flag', 'what it does'), rows)}".lstrip()
            head = ""
    yield f"{head}\nFlags that every command takes: [README](../../README.md#global-flags).\n".lstrip()


def _is_shown(action: argparse.Action) -> bool:
    return action.help is not argparse.SUPPRESS


def _help(action: argparse.Action) -> str:
    return " ".join((action.help or "").replace("%%", "%").split()).replace("%(default)s", str(action.default))


def _rights(name: str) -> Iterator[str]:
    """Of the command, and of each of its flags what it needs besides."""
    known = dict.fromkeys((*rights.BY_COMMAND, *rights.ASKED_OF_AWS))
    name = _RIGHTS_OF.get(name, name)
    mine = [each for each in known if each == name or each.startswith(f"{name} --")]
    if not mine:
        return
    policy = "; the policy of IAM: `--iam` instead" if any(rights.ASKED_OF_AWS.get(each) for each in mine) else ""
    printed = f"`kubectl eksdoc permissions {name} -o yaml`{policy}"
    yield f"## Permissions\n\n{_EVERYBODYS.get(name, f'As objects to apply: {printed}.')}\n"
    held: set[str] = set()
    for each in mine:
        rows = [(named(right), _where(right, each), _lost(right)) for right in rights.BY_COMMAND.get(each, ())]
        asked = ((question, action) for question in rights.ASKED_OF_AWS.get(each, ()) for action in question.actions)
        rows += [(code(action), "AWS", lost.OF[question]) for question, action in asked]
        new = [row for row in dict.fromkeys(rows) if f"{row[0]}{row[1]}" not in held]
        held.update(f"{row[0]}{row[1]}" for row in new)
        if new:
            title = f"### {code(each)}{'' if each == name else ', besides'}\n"
            yield f"{title}\n{table(('right', 'where', 'without it'), new)}"
        doubts = (lost.DOUBTS.get(question) for question in rights.ASKED_OF_AWS.get(each, ()))
        yield from (f"{doubt}\n" for doubt in doubts if doubt)


def _where(right: Right, command: str) -> str:
    if right.journal and command.endswith(" --in-cluster"):
        return "in the namespace of its objects"
    return rights.where(right)


def _lost(right: Right) -> str:
    if right.required:
        return right.lost or _NOTHING_WITHOUT
    codes = rights.codes_lost(right)
    unknown = "unknown: " + ", ".join(map(code, codes)) if codes else ""
    return "; ".join(filter(None, (unknown, right.lost)))
