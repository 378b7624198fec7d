"""What screens ask of the application, which reads and opens."""

from __future__ import annotations

from textual.message import Message


class ReadAnew(Message):
    """The cluster is to be read now, and what goes wrong is to be seen."""


class OtherContexts(Message):
    """Another context is to be chosen."""


class LookAway(Message):
    """From what went wrong, at what is remembered."""


class ShowRights(Message):
    """What is hidden, and what may not be done."""


class AskRights(Message):
    """The cluster is to be asked what may be done."""
