"""Text of a change of CoreDNS: differences, and the commands of the change and its rollback."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import cast

from kubectl_eksdoc.addon_diff.outcome import AddonRollback
from kubectl_eksdoc.addon_diff.report.outcome import RollbackText, rollback_text
from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_plugins import lameduck_s
from kubectl_eksdoc.kubernetes.redaction import redact_corefile, redact_value
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import CommandTarget, shell
from kubectl_eksdoc.model.coredns import Corefile
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report.encode import Json, to_yaml

from ..change import COREFILE_KEY
from ..lameduck import EditedCorefile


def corefile_diff(texts: EditedCorefile) -> list[str]:
    """A unified diff, with enough context to show the server block."""
    before, after = (redact_corefile(text).splitlines() for text in (texts.before, texts.after))
    return list(difflib.unified_diff(before, after, "Corefile (today)", "Corefile (new)", lineterm="", n=3))


def values_diff(before: Doc, after: Doc) -> list[str]:
    """A diff of the add-on's values as YAML; the Corefile is only summarized."""
    old_lines, new_lines = _yaml_lines(before), _yaml_lines(after)
    diff_lines = difflib.unified_diff(old_lines, new_lines, "values (today)", "values (new)", lineterm="", n=2)
    return [line for line in diff_lines if not line.startswith("@@")]


def _yaml_lines(values: Doc) -> list[str]:
    text = values.get(COREFILE_KEY)
    corefile_text = f"{len(text.splitlines())} lines, lameduck {_lameduck_text(text)}" if isinstance(text, str) else ""
    printed_values = redact_value(values) | ({COREFILE_KEY: corefile_text} if corefile_text else {})
    return (
        to_yaml(cast(Json, {key: printed_values[key] for key in sorted(printed_values)})).splitlines()
        if printed_values
        else []
    )


def _lameduck_text(text: str) -> str:
    corefile = parse_corefile(text)
    seconds = lameduck_s(corefile) if isinstance(corefile, Corefile) else None
    return "?" if seconds is None else f"{seconds:g}s"


def apply_command(config: Doc, force: bool, kubectl: Sequence[str]) -> str:
    """The command of a server-side apply, from standard input."""
    has_secret = redact_value(config) != config  # then the user's own file is applied
    apply = ["kubectl", *kubectl, "apply", "--server-side", "--field-manager=eksdoc"]
    apply += ["-f", "configmap.json" if has_secret else "-", *(["--force-conflicts"] if force else [])]
    text = json.dumps(config, sort_keys=True, separators=(",", ":"))
    return shell(*apply) if has_secret else f"{shell('printf', '%s', text)} | {shell(*apply)}"


def addon_rollback(
    rollback: AddonRollback | Unknown, eks: EksCluster, command_target: CommandTarget
) -> tuple[str, ...]:
    text = rollback_text(rollback, eks.name, eks.region, "", command_target)
    return text.commands if isinstance(text, RollbackText) else (f"# {text}",)


def config_map_rollback(file: str, kubectl: Sequence[str]) -> tuple[str, ...]:
    """`file` contains the previous Corefile, and no other field of the ConfigMap."""
    args = ["kubectl", *kubectl, "apply", "--server-side", "--field-manager=eksdoc", "-f", file]
    return (shell(*args),)
