"""What is loaded when it is called first is where it is said to be: neither mypy nor the import contracts see it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module

import pytest

from kubectl_eksdoc.cli.called import late
from kubectl_eksdoc.cli.commands import COMMANDS, Command
from tests.contracts.source import PACKAGE, files, text


def _of(commands: Sequence[Command]) -> Iterator[str]:
    for each in commands:
        yield f"cli.{each.place}"
        yield from _of(each.under)


_LATE = re.compile(r'\blate\("([a-z_.A-Z]+)"\)')
PLACES = sorted({*_of(COMMANDS), *(place for path in files(PACKAGE) for place in _LATE.findall(text(path)))})


@pytest.mark.parametrize("place", PLACES)
def test_it_is_there(place: str) -> None:
    module, _, name = place.rpartition(".")
    assert callable(getattr(import_module(f"kubectl_eksdoc.{module}"), name))


def test_the_source_is_searched() -> None:
    assert {"session.session.open_session", "cli.run.status.ask", "cli.check.command.add_to"} <= {*PLACES}


def test_a_place_that_is_wrong_is_told_when_it_is_called() -> None:
    called = late("cli.exits.no_such_name")
    with pytest.raises(AttributeError, match="no_such_name"):
        called()
