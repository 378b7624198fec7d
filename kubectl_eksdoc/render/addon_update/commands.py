"""What is sent, its rollback and a later look at it, as lines for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.addon_diff.run.outcome import AddonRollback
from kubectl_eksdoc.kubernetes.keeping import printed
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.render.addon.update import as_json, update_command


@dataclass(frozen=True, slots=True)
class Sent:
    """What UpdateAddon says. `values` None: it gives none, and EKS keeps what it has. `keeps`: the fields for whose
    sake there are values that nobody gave, in words."""

    addon: str
    before: str
    target: str
    mode: str
    values: Doc | None
    keeps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WayBackText:
    """`commands`: each a whole line for a shell; `caveats` are clauses, `by_hand` fields in words."""

    commands: tuple[str, ...]
    caveats: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()


_FILE = "values-of-before.json"


def way_back_text(
    back: AddonRollback | Unknown, cluster: str, region: str, file: str, reached_by: Sequence[str]
) -> WayBackText | str:
    """`file`: where the values are written once something is sent, "" where nothing will be: then the command writes
    them first. `reached_by`: the words that lead to the same cluster."""
    if isinstance(back, Unknown):
        return back.why
    ours = ["kubectl", "eksdoc", "addon-diff", back.addon, "--to", back.version]
    ours += ["--configuration-values", file or _FILE, "--apply", *reached_by]
    theirs = update_command(cluster, region, back.addon, back.version, "NONE", back.values)
    commands = [shlex.join(ours), theirs]
    if not file and printed(back.values) == back.values:
        commands[0] = f"printf %s {shlex.quote(as_json(back.values))} > {_FILE} && {commands[0]}"
    elif not file:
        commands.insert(0, f"# {_FILE} is written by --apply without --dry-run; its values may be secrets")
    return WayBackText(tuple(commands), back.caveats, tuple(map(calls, back.by_hand)))


def look_again(addon: str, run: str, update: str, cluster: str, region: str, reached_by: Sequence[str]) -> list[str]:
    """How somebody who was interrupted sees what becomes of it."""
    ours = ["kubectl", "eksdoc", "addon-diff", addon, "--apply", "--resume", run, *reached_by]
    theirs = ["aws", "eks", "describe-update", "--name", cluster, "--addon-name", addon]
    return [shlex.join(ours), shlex.join([*theirs, "--update-id", update, *(["--region", region] if region else [])])]
