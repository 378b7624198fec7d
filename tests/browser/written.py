"""Pages as a user gets them: written by the command line, in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

from tests.contracts.source import ROOT

RICH = ROOT / "tests" / "data" / "clusters" / "rich.tar.gz"

_ANSWERED = (0, 1, 5)
_LONGEST = 253
"""Characters of a name (DNS subdomain, RFC 1123)."""


def written(path: Path, *argv: str) -> Path:
    """The output of the command with ``-o html``, in that file."""
    with path.open("wb") as out:
        command = [sys.executable, "-m", "kubectl_eksdoc", *argv, "-o", "html"]
        done = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode in _ANSWERED, done.stderr
    return path


def long_names(folder: Path) -> Path:
    """A dump of a cluster whose nodes, workloads and budgets have the longest names that Kubernetes allows, without a
    character at which a browser breaks a line by itself; it has no answers of AWS, so most findings are unknown."""
    with tarfile.open(RICH) as held:
        lists = {each.name: json.load(_open(held, each)) for each in held if each.name.endswith(".json")}
    kinds = ("Node", "Deployment", "StatefulSet", "PodDisruptionBudget")
    names = [item["metadata"]["name"] for one in lists.values() for item in one["items"] if item["kind"] in kinds]
    longer = {name: name.ljust(_LONGEST, "x") for name in names}
    folder.mkdir()
    for name, one in lists.items():
        (folder / Path(name).name).write_text(json.dumps(_renamed(one, longer)), encoding="utf-8")
    return folder


def _open(held: tarfile.TarFile, member: tarfile.TarInfo) -> Any:
    found = held.extractfile(member)
    assert found is not None
    return found


def _renamed(what: Any, names: dict[str, str]) -> Any:
    if isinstance(what, dict):
        return {key: _renamed(value, names) for key, value in what.items()}
    if isinstance(what, list):
        return [_renamed(each, names) for each in what]
    return names.get(what, what) if isinstance(what, str) else what
