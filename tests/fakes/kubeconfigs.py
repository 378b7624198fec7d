"""Kubeconfig files for tests: one cluster, one user, one context, unless a test writes more."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

from tests.fakes.programs import program


def one(
    path: Path, server: str, ca: bytes = b"", user: dict[str, Any] | None = None, name: str = "test", **cluster: Any
) -> str:
    """Write a kubeconfig and return its path. JSON is sufficient YAML for kubectl and for this tool."""
    fields = {"server": server, **({"certificate-authority-data": b64(ca)} if ca else {}), **cluster}
    return many(path, {name: fields}, {name: user or {}}, {name: (name, name)}, name)


def many(
    path: Path,
    clusters: dict[str, dict[str, Any]],
    users: dict[str, dict[str, Any]],
    contexts: dict[str, tuple[str, str]],
    current: str = "",
) -> str:
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": fields} for name, fields in clusters.items()],
        "users": [{"name": name, "user": fields} for name, fields in users.items()],
        "contexts": [{"name": name, "context": {"cluster": c, "user": u}} for name, (c, u) in contexts.items()],
    }
    if current:
        document["current-context"] = current
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    return str(path)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


API = "client.authentication.k8s.io/v1"


def plugin(folder: Path, source: str, name: str = "plugin") -> Path:
    """An executable Python program; `say(**status)` prints a credential, `runs()` counts and returns its runs."""
    counter = folder / f"{name}.runs"
    text = folder / f"{name}.py"
    text.write_text(
        "import json, os, sys, time\n"
        f"counter = {str(counter)!r}\n"
        "def runs():\n"
        "    with open(counter, 'ab') as file: file.write(b'x')\n"
        "    return os.path.getsize(counter)\n"
        "def say(**status):\n"
        f"    print(json.dumps({{'apiVersion': {API!r}, 'kind': 'ExecCredential', 'status': status}}))\n" + source,
        encoding="utf-8",
    )
    return program(folder / name, sys.executable, "-IS", str(text))


def runs(path: Path) -> int:
    """How often a `plugin` that calls runs() has run."""
    counter = path.with_name(f"{path.name}.runs")
    return counter.stat().st_size if counter.exists() else 0


def exec_user(command: Path | str, *args: str, **more: Any) -> dict[str, Any]:
    fields = {"apiVersion": API, "command": str(command), "args": list(args), "interactiveMode": "IfAvailable"}
    return {"exec": {**fields, **more}}
