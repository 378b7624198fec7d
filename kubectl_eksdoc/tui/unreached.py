"""Texts of the error screen: which cluster, the error, possible causes, and remedies."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.errors import (
    ConfigError,
    EksdocError,
    Forbidden,
    SnapshotError,
    Unauthorized,
    Unreachable,
    Untrusted,
)
from kubectl_eksdoc.model.connection import ClusterAddress
from kubectl_eksdoc.report.text import Tone, age, between, sentences

from .keymap import Hint
from .model import Model
from .tables.pods import Line
from .words import FittingText, dropped

_HEADLINES: tuple[tuple[type[EksdocError], str], ...] = (
    (ConfigError, "The kubeconfig cannot be used"),
    (SnapshotError, "The dump cannot be read"),
    (Untrusted, "{} answers, and its certificate is not trusted"),
    (Unreachable, "{} does not answer"),
    (Unauthorized, "{} does not accept your credentials"),
    (Forbidden, "{} does not let you read what is needed"),
)


def headline(error: EksdocError, where: ClusterAddress | None) -> str:
    """The headline, without a full stop, by class of the error."""
    who = f"Context {where.context}" if where is not None and where.context else "The cluster"
    return next((said for kind, said in _HEADLINES if isinstance(error, kind)), "{} could not be read").format(who)


def lines(model: Model, where: ClusterAddress | None, what: str, now: datetime) -> list[Line]:
    """`headline_text`: as from `headline`."""
    reads = model.reads
    told: list[Line] = [(f"✗ {sentences(what)}", Tone.BAD), ""]
    if where is not None and where.server not in reads.why:
        told.append(where.server)
    told += [sentences(reads.why), ""]
    if reads.remedy:
        told += [("What it may be, and what to do", Tone.TITLE), *reads.remedy.split("\n"), ""]
    told += [(f"{key:<8} {does}", Tone.FAINT) for key, does in keys(model, now)]
    return told


def keys(model: Model, now: datetime) -> tuple[tuple[str, str], ...]:
    """The keys that have an effect here, with descriptions."""
    found = [("t ctrl+r", "try now"), ("q", "quit")]
    if command(model):
        found.insert(1, ("y", "copy the command"))
    if model.reads.live:
        found.insert(1, ("x", "another context"))
    if model.old and model.facts is not None:
        seen = age(between(model.facts.cluster.observed_at, now))
        found.insert(-1, ("o", f"show the last view, {seen} old"))
    return tuple(found)


def command(model: Model) -> str:
    """The first command of the remedy, "" for none."""
    lines = model.reads.remedy.split("\n")
    return next((line.strip() for line in lines if line.startswith(" ")), "")


def head(model: Model, what: str, now: datetime) -> tuple[FittingText, ...]:
    """``eksdoc  ✗ Context blue does not answer (2 tries, retry in 7s)``."""
    return (dropped("eksdoc", 1, Tone.TITLE), FittingText(f"✗ {what} ({model.reads.tried(now)})", tone=Tone.TITLE))


def foot(model: Model, now: datetime) -> tuple[Hint, ...]:
    return tuple(Hint(key.split()[0], does.split(",")[0]) for key, does in keys(model, now))
