"""Width, colour and characters follow the flags, the environment and the type of stdout."""

from __future__ import annotations

import io
from typing import TextIO

import pytest

from kubectl_eksdoc.cli.answers import appearance_for
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.flags import GlobalOptions
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.report.text import Appearance
from tests.cli.running import Terminal


def look_of(options: GlobalOptions, stream: TextIO, environ: dict[str, str]) -> Appearance:
    return appearance_for(CommandContext(stream, io.StringIO(), environ, options=options))


@pytest.mark.parametrize(
    ("options", "terminal", "environ", "colour"),
    [
        (GlobalOptions(), True, {}, True),
        (GlobalOptions(), False, {}, False),
        (GlobalOptions(no_color=True), True, {}, False),
        (GlobalOptions(), True, {"NO_COLOR": "1"}, False),
        (GlobalOptions(), True, {"NO_COLOR": ""}, True),
        (GlobalOptions(), True, {"TERM": "dumb"}, False),
    ],
)
def test_colour(options: GlobalOptions, terminal: bool, environ: dict[str, str], colour: bool) -> None:
    assert look_of(options, Terminal() if terminal else io.StringIO(), environ).colour is colour


@pytest.mark.parametrize(
    ("environ", "width"), [({}, 120), ({"COLUMNS": "83"}, 83), ({"COLUMNS": "0"}, 120), ({"COLUMNS": "x"}, 120)]
)
def test_width(environ: dict[str, str], width: int) -> None:
    assert look_of(GlobalOptions(), io.StringIO(), environ).width == width


def test_headers_and_ascii() -> None:
    look = look_of(GlobalOptions(no_headers=True, ascii=True), io.StringIO(), {})
    assert look == Appearance(120, colour=False, ascii=True, headers=False)


@pytest.mark.parametrize(("encoding", "ascii_only"), [("ascii", True), ("latin-1", True), ("utf-8", False)])
def test_a_stream_that_cannot_show_our_signs_gets_ascii(encoding: str, ascii_only: bool) -> None:
    assert look_of(GlobalOptions(), io.TextIOWrapper(io.BytesIO(), encoding=encoding), {}).ascii is ascii_only


def test_progress_is_drawn_ten_times_a_second_at_most() -> None:
    now = [0.0]
    err = Terminal()
    with ProgressLine(err, clock=lambda: now[0]) as progress:
        for step in range(100):
            now[0] = step / 100
            progress("pods", step)
    assert 5 <= err.getvalue().count("reading") <= 11
    assert err.getvalue().endswith("\r")
