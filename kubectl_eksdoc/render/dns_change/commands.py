"""The same change without this tool, and the way back, as lines for a shell."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws.clusters import EksCluster
from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.rules.keeping.secrets import printed
from kubectl_eksdoc.core.run.addon.way_back import WayBack
from kubectl_eksdoc.render.addon.commands import given
from kubectl_eksdoc.render.addon_update import WayBackText
from kubectl_eksdoc.render.addon_update.commands import way_back_text


def update_addon(eks: EksCluster, version: str, mode: str, values: Doc) -> str:
    said = ["aws", "eks", "update-addon", "--cluster-name", eks.name, "--addon-name", "coredns"]
    said += ["--addon-version", version, "--resolve-conflicts", mode]
    said += ["--region", eks.region] if eks.region else []
    return shell(*said, "--configuration-values", given(values))


def apply_config(config: Doc, force: bool, kubectl: Sequence[str]) -> str:
    """Server-side, from standard input."""
    secret = printed(config) != config  # then it is a file of one's own
    apply = ["kubectl", *kubectl, "apply", "--server-side", "--field-manager=eksdoc"]
    apply += ["-f", "configmap.json" if secret else "-", *(["--force-conflicts"] if force else [])]
    text = json.dumps(config, sort_keys=True, separators=(",", ":"))
    return shell(*apply) if secret else f"{shell('printf', '%s', text)} | {shell(*apply)}"


def back_of_update(back: WayBack | Unknown, eks: EksCluster, file: str, reached_by: Sequence[str]) -> tuple[str, ...]:
    found = way_back_text(back, eks.name, eks.region, file, reached_by)
    return found.commands if isinstance(found, WayBackText) else (f"# {found}",)


def back_of_map(file: str, kubectl: Sequence[str]) -> tuple[str, ...]:
    """`file` holds the Corefile of before, and nothing else of the ConfigMap."""
    said = ["kubectl", *kubectl, "apply", "--server-side", "--field-manager=eksdoc", "-f", file]
    return (shell(*said),)
