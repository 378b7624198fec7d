"""What kubectl takes from the process around it, as one value, so that tests need no real process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TextIO

from kubectl_eksdoc.bounds import ReadTime
from kubectl_eksdoc.kube.credentials import Sharing

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
ELSEWHERE = "EKSDOC_SERVICE_ACCOUNT"
"""The environment variable that names another folder than that; like it, it counts only where no kubeconfig is."""


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


def _silent(_text: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`interactive`: stdin is a terminal on which somebody can answer. `say` shows what a credential plugin asks its
    user, as it comes. `logins`: what plugins gave already. `read_time`: how long the cluster has been read."""

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    home: str = ""
    interactive: bool = False
    service_account: str = SERVICE_ACCOUNT
    now: Callable[[], datetime] = utc_now
    say: Callable[[str], None] = _silent
    logins: Sharing = field(default_factory=Sharing, repr=False, compare=False)
    read_time: ReadTime = field(default_factory=ReadTime, repr=False, compare=False)


_LOGINS = Sharing()
"""Those of this process: however many connections it makes, a plugin is run once."""

_READ_TIME = ReadTime()
"""That of this process, which observes one cluster at a time, over however many connections."""


def _can_be_asked(stdin: TextIO | None) -> bool:
    """Whether somebody sits there and lines are read: screens take their terminal out of canonical mode, so that what a
    plugin asks would be drawn over them, and its answer be their keys."""
    if stdin is None or not stdin.isatty():
        return False
    try:
        import termios
    except ImportError:  # on Windows
        return True
    try:
        return bool(termios.tcgetattr(stdin.fileno())[3] & termios.ICANON)
    except (OSError, ValueError, termios.error):  # nothing is known of it
        return True


def of_this_process() -> Surroundings:
    def say(text: str) -> None:
        # What cannot be shown must not end the thread that listens to the plugin.
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()

    return Surroundings(
        environ=dict(os.environ),
        home=os.path.expanduser("~"),
        interactive=_can_be_asked(sys.stdin),
        service_account=os.environ.get(ELSEWHERE) or SERVICE_ACCOUNT,
        say=say,
        logins=_LOGINS,
        read_time=_READ_TIME,
    )
