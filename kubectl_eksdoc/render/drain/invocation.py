"""The command line that makes this plan again, with another flag or format: to be copied into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.options import usual
from kubectl_eksdoc.render.drain.view import DrainView

DRAIN = ("kubectl", "eksdoc", "drain")

DUMP = "DUMP"
"""Stands for the dump's path where it is not known."""

CONTEXT = "CONTEXT"
"""Stands for the context of the cluster where that is not known."""

_DEFAULTS: Mapping[str, object] = usual(DrainPolicy)
_ACCEPTED = "accept-unknown"


class NextStep(NamedTuple):
    """One sentence without its full stop, and the command line that does it, or ""."""

    text: str
    command: str = ""


def again(view: DrainView, *flags: str, accept: Iterable[str] = ()) -> str:
    """The command line that was given, with `flags` behind it and the codes of `accept` accepted as well.

    Quoted for a POSIX shell. Where it is not known how the cluster was reached, a live one is named by its
    context, so that the command cannot meet another one.
    """
    words = [*DRAIN, "plan", *option_words(view.options, frozenset(accept)), *_source(view), *flags]
    return shlex.join(words)


def run(view: DrainView) -> str:
    """The command line that carries this plan out, after it has shown it once more."""
    asked = {key: value for key, value in view.options.items() if key not in ("since", "baseline")}
    return shlex.join([*DRAIN, "run", *option_words(asked), *_source(view)])


def kubectl(view: DrainView, *words: str) -> str:
    """A command of kubectl's own on the same cluster, quoted for a POSIX shell.

    For a plan of a dump or the demo it names their context, or `CONTEXT` where that is not known: so it cannot change
    whatever cluster is the current one.
    """
    live = view.cluster.source is Source.LIVE and view.reached_by is not None
    named = ("--context", view.cluster.identity.context or CONTEXT)
    return shlex.join(["kubectl", *words, *(view.reached_by or () if live else named)])


def dump_folder(view: DrainView) -> str:
    """The folder of the dump, quoted; ``DUMP`` where it is an archive or not known."""
    given = list(view.reached_by or ())
    path = given[given.index("--snapshot") + 1] if "--snapshot" in given[:-1] else DUMP
    archive = path == "-" or path.endswith((".tar", ".tgz", ".gz", ".zip", ".json", ".yaml"))
    return shlex.quote(DUMP if archive else path.rstrip("/") or "/")


def option_words(options: Mapping[str, object], accept: frozenset[str] = frozenset()) -> list[str]:
    """The words of a command line that say the same as these options (JSON values by the names of their flags)."""
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
