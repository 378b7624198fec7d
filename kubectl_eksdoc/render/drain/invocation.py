"""The command line that makes this plan again, with another flag or format: to be copied into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from kubectl_eksdoc.core.model.cluster import Source
from kubectl_eksdoc.render.drain.view import DrainView

PLAN = ("kubectl", "eksdoc", "drain", "plan")

DUMP = "DUMP"
"""Stands for the dump's path where it is not known."""

_DEFAULTS: Mapping[str, object] = {"ignore-daemonsets": True, "grace-period": -1, "skip-wait-for-delete-timeout": 0}
_ACCEPTED = "accept-unknown"


def again(view: DrainView, *flags: str, accept: Iterable[str] = ()) -> str:
    """The command line that was given, with `flags` behind it and the codes of `accept` accepted as well.

    Quoted for a POSIX shell. Where it is not known how the cluster was reached, a live one is named by its
    context, so that the command cannot meet another one.
    """
    words = [*PLAN, *_options(view.options, frozenset(accept)), *_source(view), *flags]
    return shlex.join(words)


def dump_folder(view: DrainView) -> str:
    """The folder of the dump, quoted; ``DUMP`` where it is an archive or not known."""
    given = list(view.reached_by or ())
    path = given[given.index("--snapshot") + 1] if "--snapshot" in given[:-1] else DUMP
    archive = path == "-" or path.endswith((".tar", ".tgz", ".gz", ".zip", ".json", ".yaml"))
    return shlex.quote(DUMP if archive else path.rstrip("/") or "/")


def _options(options: Mapping[str, object], accept: frozenset[str]) -> list[str]:
    words = [str(name) for name in _many(options.get("nodes"))]
    for key, value in options.items():
        if key in ("nodes", _ACCEPTED) or value == _DEFAULTS.get(key, False):
            continue
        words += _flag(key, value)
    accepted = sorted(accept | {str(code) for code in _many(options.get(_ACCEPTED))})
    return words + (_flag(_ACCEPTED, ",".join(accepted)) if accepted else [])


def _flag(key: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [f"--{key}" if value else f"--{key}=false"]
    if isinstance(value, (list, tuple)):
        return [word for item in value for word in _flag(key, item)]
    text = f"{value:g}" if isinstance(value, float) else str(value)
    name = "-l" if key == "selector" else f"--{key}"
    # A value that looks like a flag has to be tied to its own.
    return [f"--{key}={text}"] if text.startswith("-") else [name, text]


def _source(view: DrainView) -> Sequence[str]:
    if view.reached_by is not None:
        return view.reached_by
    if view.cluster.source is Source.DEMO:
        return ("--demo",)
    if view.cluster.source is Source.SNAPSHOT:
        return ("--snapshot", DUMP)
    context = view.cluster.identity.context
    return ("--context", context) if context else ()


def _many(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()
