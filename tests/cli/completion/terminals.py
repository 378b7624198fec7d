"""Shells in a terminal: a test types a line, presses Tab, and reads the completed line."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

LONGEST_S = 60.0
_TAB, _SHOW = b"\t", b"\x18\x04"
_PROMPT = b"eksdoc> "

BASH = """\
PS1='eksdoc''> '
bind 'set enable-bracketed-paste off'
source "$HOME/bash"
show() { printf '%s' "$READLINE_LINE" > "$HOME/line.new"; mv "$HOME/line.new" "$HOME/line"; }
bind -x '"\\C-x\\C-d": show'
"""
ZSH = """\
PS1='eksdoc''> '
autoload -Uz compinit; compinit -u -D
source "$HOME/zsh"
show() { print -rn -- "$BUFFER" > "$HOME/line.new"; mv "$HOME/line.new" "$HOME/line" }
zle -N show; bindkey '^X^D' show
"""


def completed(shell: str, line: str, home: Path, environ: Mapping[str, str]) -> str:
    """The line after Tab. `home` has this tool's scripts, under the names of their shells."""
    (home / ".bashrc").write_text(BASH)
    (home / ".zshrc").write_text(ZSH)
    (home / "line").unlink(missing_ok=True)
    command = {"bash": ["bash", "--noprofile", "--rcfile", str(home / ".bashrc"), "-i"], "zsh": ["zsh", "-d", "-i"]}
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        os.execvpe(shell, command[shell], {**environ, "TERM": "dumb", "LC_ALL": "C.UTF-8"})
    try:
        shown = _until(terminal, lambda shown: _PROMPT in shown)
        os.write(terminal, line.encode() + _TAB + _SHOW)
        shown += _until(terminal, lambda _: (home / "line").exists())
        assert (home / "line").exists(), shown.decode(errors="replace")
        return (home / "line").read_text()
    finally:
        os.kill(child, signal.SIGKILL)
        os.close(terminal)
        os.waitpid(child, 0)


def _until(terminal: int, done: Callable[[bytes], bool]) -> bytes:
    shown, ends_s = b"", time.monotonic() + LONGEST_S
    while not done(shown) and time.monotonic() < ends_s:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # the shell is gone
                break
    return shown
