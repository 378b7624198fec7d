"""Commands that lead to the cluster that was read, also those that can be had of a live cluster only."""

from __future__ import annotations

from kubectl_eksdoc.model.commands import Reach

_DRAINS = "kubectl eksdoc drain run"
_MEASURES = (" --active", " --measure")


def led(command: str, reach: Reach) -> str:
    """ "" stays "". What drains or measures takes no dump and no demo: of these it is told as it is done live."""
    if not command:
        return ""
    live = command.startswith(_DRAINS) or any(each in command for each in _MEASURES)
    return Reach(reach.kubectl).of(command) if live else reach.of(command)
