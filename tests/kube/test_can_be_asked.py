"""Whether a credential plugin may ask whoever sits at the terminal."""

from __future__ import annotations

import io
import os
import sys

import pytest

from kubectl_eksdoc.kube.target import of_this_process

pty = pytest.importorskip("pty")
tty = pytest.importorskip("tty")


def test_nobody_is_asked_while_screens_read_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """They put their terminal into raw mode."""
    near, far = pty.openpty()
    try:
        with os.fdopen(os.dup(far), "r") as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            assert of_this_process().interactive
            tty.setraw(far)
            assert not of_this_process().interactive
    finally:
        os.close(near)
        os.close(far)


def test_a_pipe_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
    assert not of_this_process().interactive
