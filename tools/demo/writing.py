"""The files of the snapshot: the plain scene, and the additions and changes of the other scenes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from kubectl_eksdoc.embedded.demo.reader import PLAIN, SCENES, scene_folder
from tools.demo import account, scenes
from tools.demo.aws import clusters

DATA = Path(__file__).resolve().parents[2] / "kubectl_eksdoc" / "embedded" / "demo" / "data"

Named = Mapping[str, Mapping[str, Any]]
"""By kind and name."""

_WIDTH = 120
_SCHEMAS = "schemas"
"""The folder of files that are not generated: documents of EKS."""


def files(data: Path) -> dict[Path, str]:
    """All up-to-date files of the folder `data`."""
    about = {"endpoint": clusters.ENDPOINT, "instances": account.instances(), "questions": account.questions()}
    made = {data / "account.json": _text(about)}
    for what, of_scene in _WHATS.items():
        plain = of_scene(PLAIN)
        for scene in SCENES:
            added = plain if scene == PLAIN else added_to(plain, of_scene(scene))
            if added:
                made[data / scene_folder(scene) / f"{what}.json"] = _text(added)
    return made


def stale(made: Mapping[Path, str], data: Path) -> list[Path]:
    """Files in `data` that are out of date, and files that should not exist."""
    held = {path for path in data.rglob("*.json") if path.parent.name != _SCHEMAS}
    other = {path for path, text in made.items() if path not in held or path.read_text(encoding="utf-8") != text}
    return sorted(other | (held - made.keys()))


def write(made: Mapping[Path, str], changed: Iterable[Path]) -> None:
    """Obsolete files among `changed` are removed."""
    for path in changed:
        if path not in made:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path], encoding="utf-8")


def added_to(plain: Named, whole: Named) -> Named:
    """The parts of `whole` that are not in `plain`, or differ from it."""
    gone = [f"{kind} {name}" for kind, several in plain.items() for name in several if name not in whole.get(kind, {})]
    if gone:
        raise AssertionError(f"a scene takes nothing away from the plain one, and lacks {', '.join(gone)}")
    found = {
        kind: {name: each for name, each in several.items() if plain.get(kind, {}).get(name) != each}
        for kind, several in whole.items()
    }
    return {kind: several for kind, several in found.items() if several}


def _objects(scene: str) -> Named:
    return scenes.by_name(scenes.objects_of(scene))


@cache
def _account(scene: str) -> Named:
    return account.answers(scenes.MAKERS[scene].estate)


def _texts(scene: str) -> Named:
    """Logs and API server metrics; every scene has the logs of the plain one."""
    logs = {**scenes.logs_of(PLAIN), **scenes.logs_of(scene)}
    found: dict[str, dict[str, str]] = {}
    for log, text in logs.items():
        of_kind = found.setdefault("previous log" if log.previous else "log", {})
        of_kind[f"{log.namespace}/{log.pod}/{log.container}"] = text
    metrics = scenes.MAKERS[scene].metrics
    return {**found, "metrics": {"/metrics": metrics}} if metrics else found


_WHATS: Mapping[str, Callable[[str], Named]] = {"objects": _objects, "texts": _texts, "aws": _account}


def _text(value: Mapping[str, Any]) -> str:
    return _laid_out(_plain(value), "") + "\n"


def _laid_out(value: Any, margin: str) -> str:
    """JSON in which an object that fits into a line is on one line, so that diffs are readable."""
    line = json.dumps(value, ensure_ascii=False)
    if len(margin) + len(line) <= _WIDTH or not isinstance(value, (dict, list)):
        return line
    inner = margin + " "
    if isinstance(value, list):
        parts = [_laid_out(each, inner) for each in value]
    else:
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(each, inner)}" for key, each in value.items()]
    opened, closed = "[]" if isinstance(value, list) else "{}"
    return f"{opened}\n{inner}" + f",\n{inner}".join(parts) + f"\n{margin}{closed}"


def _plain(value: Any) -> Any:
    """Values without a JSON form, and documents in a file of their own."""
    if isinstance(value, datetime):
        return {"$time": value.isoformat()}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return {"$file": _schemas()[value]} if isinstance(value, str) and value in _schemas() else value


@cache
def _schemas() -> Mapping[str, str]:
    """File names by their content."""
    return {
        path.read_text(encoding="utf-8"): path.relative_to(DATA).as_posix() for path in (DATA / _SCHEMAS).glob("*.json")
    }
