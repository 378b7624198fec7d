"""Text of a change of CoreDNS: differences, and the commands of the change and its rollback."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import cast

from kubectl_eksdoc.addon_diff.outcome import AddonRollback
from kubectl_eksdoc.addon_diff.report.outcome import WayBackText, way_back_text
from kubectl_eksdoc.kubernetes.corefile import parse
from kubectl_eksdoc.kubernetes.corefile_plugins import lameduck_s
from kubectl_eksdoc.kubernetes.redaction import printed, printed_corefile
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import CommandTarget, shell
from kubectl_eksdoc.model.coredns import Corefile
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report.encode import Json, to_yaml

from ..change import COREFILE
from ..lameduck import EditedCorefile


def diff(texts: EditedCorefile) -> list[str]:
    """A unified diff, with enough context to show the server block."""
    before, after = (printed_corefile(text).splitlines() for text in (texts.before, texts.after))
    return list(difflib.unified_diff(before, after, "Corefile (today)", "Corefile (new)", lineterm="", n=3))


def values_diff(before: Doc, after: Doc) -> list[str]:
    """A diff of the add-on's values as YAML; the Corefile is only summarized."""
    old, new = _as_yaml(before), _as_yaml(after)
    found = difflib.unified_diff(old, new, "values (today)", "values (new)", lineterm="", n=2)
    return [line for line in found if not line.startswith("@@")]


def _as_yaml(values: Doc) -> list[str]:
    text = values.get(COREFILE)
    named = f"{len(text.splitlines())} lines, lameduck {_lameduck(text)}" if isinstance(text, str) else ""
    said = printed(values) | ({COREFILE: named} if named else {})
    return to_yaml(cast(Json, {key: said[key] for key in sorted(said)})).splitlines() if said else []


def _lameduck(text: str) -> str:
    corefile = parse(text)
    found = lameduck_s(corefile) if isinstance(corefile, Corefile) else None
    return "?" if found is None else f"{found:g}s"


def apply_config(config: Doc, force: bool, kubectl: Sequence[str]) -> str:
    """The command of a server-side apply, from standard input."""
    secret = printed(config) != config  # then the user's own file is applied
    apply = ["kubectl", *kubectl, "apply", "--server-side", "--field-manager=eksdoc"]
    apply += ["-f", "configmap.json" if secret else "-", *(["--force-conflicts"] if force else [])]
    text = json.dumps(config, sort_keys=True, separators=(",", ":"))
    return shell(*apply) if secret else f"{shell('printf', '%s', text)} | {shell(*apply)}"


def back_of_update(back: AddonRollback | Unknown, eks: EksCluster, reach: CommandTarget) -> tuple[str, ...]:
    found = way_back_text(back, eks.name, eks.region, "", reach)
    return found.commands if isinstance(found, WayBackText) else (f"# {found}",)


def back_of_map(file: str, kubectl: Sequence[str]) -> tuple[str, ...]:
    """`file` contains the previous Corefile, and no other field of the ConfigMap."""
    said = ["kubectl", *kubectl, "apply", "--server-side", "--field-manager=eksdoc", "-f", file]
    return (shell(*said),)
