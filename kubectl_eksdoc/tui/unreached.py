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
from kubectl_eksdoc.report.text import Tone, format_age, join_sentences, time_between

from .keymap import Hint
from .model import Model
from .tables.pods import Line
from .words import FittingText, droppable

_HEADLINES: tuple[tuple[type[EksdocError], str], ...] = (
    (ConfigError, "The kubeconfig cannot be used"),
    (SnapshotError, "The dump cannot be read"),
    (Untrusted, "{} answers, and its certificate is not trusted"),
    (Unreachable, "{} does not answer"),
    (Unauthorized, "{} does not accept your credentials"),
    (Forbidden, "{} does not let you read what is needed"),
)


def headline(error: EksdocError, address: ClusterAddress | None) -> str:
    """The headline, without a full stop, by class of the error."""
    subject = f"Context {address.context}" if address is not None and address.context else "The cluster"
    return next((template for kind, template in _HEADLINES if isinstance(error, kind)), "{} could not be read").format(
        subject
    )


def failure_lines(model: Model, address: ClusterAddress | None, headline_text: str, now: datetime) -> list[Line]:
    """`headline_text`: as from `headline`."""
    reads = model.reads
    message_lines: list[Line] = [(f"✗ {join_sentences(headline_text)}", Tone.BAD), ""]
    if address is not None and address.server not in reads.reason:
        message_lines.append(address.server)
    message_lines += [join_sentences(reads.reason), ""]
    if reads.remedy:
        message_lines += [("What it may be, and what to do", Tone.TITLE), *reads.remedy.split("\n"), ""]
    message_lines += [(f"{key:<8} {effect}", Tone.FAINT) for key, effect in available_keys(model, now)]
    return message_lines


def available_keys(model: Model, now: datetime) -> tuple[tuple[str, str], ...]:
    """The keys that have an effect here, with descriptions."""
    key_texts = [("t ctrl+r", "try now"), ("q", "quit")]
    if remedy_command(model):
        key_texts.insert(1, ("y", "copy the command"))
    if model.reads.live:
        key_texts.insert(1, ("x", "another context"))
    if model.is_old and model.facts is not None:
        view_age = format_age(time_between(model.facts.cluster.observed_at, now))
        key_texts.insert(-1, ("o", f"show the last view, {view_age} old"))
    return tuple(key_texts)


def remedy_command(model: Model) -> str:
    """The first command of the remedy, "" for none."""
    lines = model.reads.remedy.split("\n")
    return next((line.strip() for line in lines if line.startswith(" ")), "")


def head_texts(model: Model, headline_text: str, now: datetime) -> tuple[FittingText, ...]:
    """``eksdoc  ✗ Context blue does not answer (2 tries, retry in 7s)``."""
    return (
        droppable("eksdoc", 1, Tone.TITLE),
        FittingText(f"✗ {headline_text} ({model.reads.tries_text(now)})", tone=Tone.TITLE),
    )


def foot_hints(model: Model, now: datetime) -> tuple[Hint, ...]:
    return tuple(Hint(key.split()[0], effect.split(",")[0]) for key, effect in available_keys(model, now))
