"""``kubectl eksdoc --replay FILE``: reads a recorded run and shows it on the screens."""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening, streams
from kubectl_eksdoc.cli.bare import REPLAY
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.flags import HONOURED, GlobalOptions
from kubectl_eksdoc.errors import UsageError

if TYPE_CHECKING:  # help must not load the code of runs
    from kubectl_eksdoc.drain.run.replay import RunReplay

NO_TERMINAL = """\
error: the screens need a terminal, and {} is not one.
Without one: {} says what happened, line by line (-o json for programs).
"""

_STILL_OF_USE = {"no_color", "ascii", "debug"}


def show_again(path: str, missing: str, light: bool, around: CommandContext) -> CommandAnswer:
    """Run the screens until the user leaves. `missing_terminal`: which stream is no terminal, "" if all are; `light`: a
    light background.

    Raises:
        UsageError: the file is unreadable or no recording of a run, or a flag cannot be combined with it.
    """
    source = around.source
    given = [] if source.live else ["--demo" if source.demo else "--snapshot"]
    mine, usual = ({**asdict(each), **asdict(each.connection)} for each in (around.options, GlobalOptions()))
    given += [flag.long for flag in HONOURED if flag.dest not in _STILL_OF_USE and mine[flag.dest] != usual[flag.dest]]
    if given:
        raise UsageError(f"{REPLAY} shows what is in a file: {', '.join(given)} cannot be used with it")
    path, recording = _fuller(path, _read(path), around)
    if missing:
        streams.say(
            around.stderr, NO_TERMINAL.format(missing, f"kubectl eksdoc drain status --replay {shlex.quote(path)}")
        )
        return CommandAnswer("", streams.USAGE)
    from ..replay import ShownRun

    look = opening.decide(around, around.stderr)
    again = ShownRun(recording, path, ascii=look.ascii, plain=not look.colour, light=light)
    return CommandAnswer("", around.show_again(again))


def _read(path: str) -> RunReplay:
    from kubectl_eksdoc.drain.command.status import read_replay  # keeps the code of runs out of help and first paint

    return read_replay(path)


_CLOSE = timedelta(seconds=60)


def _fuller(path: str, recording: RunReplay, around: CommandContext) -> tuple[str, RunReplay]:
    """The events of a run, if they are beside its journal and end alike: they also know what pods waited for."""
    from kubectl_eksdoc.drain.run.replay import ReplaySource

    beside = f"{path.removesuffix('.jsonl')}.events"
    if recording.source is ReplaySource.JOURNAL and os.path.exists(beside):
        try:
            events = _read(beside)
        except UsageError as error:
            around.note(f"{error.message}: the journal is shown")
            return path, recording
        # After a resume on another machine, only part of the events may be here.
        whole = events.began_at <= recording.began_at + _CLOSE
        if (events.run, events.ended) == (recording.run, recording.ended) and whole:
            return beside, events
    return path, recording
