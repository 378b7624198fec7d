"""``kubectl eksdoc --replay FILE``: reads a recorded run and shows it on the screens."""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import answers, streams
from kubectl_eksdoc.cli.bare import REPLAY
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.flags import SUPPORTED_FLAGS, GlobalOptions
from kubectl_eksdoc.errors import UsageError

if TYPE_CHECKING:  # help must not load the code of runs
    from kubectl_eksdoc.drain.run.replay import RunReplay

NO_TERMINAL = """\
error: the screens need a terminal, and {} is not one.
Without one: {} says what happened, line by line (-o json for programs).
"""

_ALLOWED_FLAGS = {"no_color", "ascii", "debug"}


def show_again(path: str, missing_terminal: str, light: bool, context: CommandContext) -> CommandAnswer:
    """Run the screens until the user leaves. `missing_terminal`: which stream is no terminal, "" if all are; `light`: a
    light background.

    Raises:
        UsageError: the file is unreadable or no recording of a run, or a flag cannot be combined with it.
    """
    source = context.source
    unusable_flags = [] if source.live else ["--demo" if source.demo else "--snapshot"]
    given_options, default_options = (
        {**asdict(options), **asdict(options.connection)} for options in (context.options, GlobalOptions())
    )
    unusable_flags += [
        flag.long
        for flag in SUPPORTED_FLAGS
        if flag.dest not in _ALLOWED_FLAGS and given_options[flag.dest] != default_options[flag.dest]
    ]
    if unusable_flags:
        raise UsageError(f"{REPLAY} shows what is in a file: {', '.join(unusable_flags)} cannot be used with it")
    path, recording = _prefer_events(path, _read_recording(path), context)
    if missing_terminal:
        streams.write_note(
            context.stderr,
            NO_TERMINAL.format(missing_terminal, f"kubectl eksdoc drain status --replay {shlex.quote(path)}"),
        )
        return CommandAnswer("", streams.USAGE)
    from ..replay import ReplayOptions

    appearance = answers.appearance_for(context, context.stderr)
    replay_options = ReplayOptions(recording, path, ascii=appearance.ascii, plain=not appearance.colour, light=light)
    return CommandAnswer("", context.show_again(replay_options))


def _read_recording(path: str) -> RunReplay:
    from kubectl_eksdoc.drain.command.status import read_replay  # keeps the code of runs out of help and first paint

    return read_replay(path)


_MAX_START_DIFFERENCE = timedelta(seconds=60)


def _prefer_events(path: str, recording: RunReplay, context: CommandContext) -> tuple[str, RunReplay]:
    """The events of a run, if they are beside its journal and end alike: they also know what pods waited for."""
    from kubectl_eksdoc.drain.run.replay import ReplaySource

    events_path = f"{path.removesuffix('.jsonl')}.events"
    if recording.source is ReplaySource.JOURNAL and os.path.exists(events_path):
        try:
            events = _read_recording(events_path)
        except UsageError as error:
            context.note(f"{error.message}: the journal is shown")
            return path, recording
        # After a resume on another machine, only part of the events may be here.
        is_complete = events.started_at <= recording.started_at + _MAX_START_DIFFERENCE
        if (events.run, events.outcome) == (recording.run, recording.outcome) and is_complete:
            return events_path, events
    return path, recording
