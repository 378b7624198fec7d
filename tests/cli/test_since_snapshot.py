"""``--since FILE`` where the file holds what was read, and not what was found: the same is asked of it first."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.wiring.sources import open_reader
from tests.cli.edited_snapshots import Edit
from tests.cli.running import FakeSource

COMMANDS = {
    "check": ("check",),
    "addon-diff": ("addon-diff", "vpc-cni"),
    "imds-probe": ("imds-probe",),
    "drain plan": ("drain", "plan", "--nodegroup", "blue", "--effort", "0"),
}
EVERY = sorted(COMMANDS)
LISTS = ("new", "fixed", "changed", "notKnownAnyMore", "notJudgedThisTime", "knownNow", "suppressed")


class Anywhere(FakeSource):
    """The real sources, for the commands that ask for a reader of their own."""

    def open(self, *asked: Any) -> Any:
        return open_reader(*asked)


def of_budget(name: str, document: dict[str, Any]) -> None:
    """Budget shop/sale lets one of its pods go."""
    for budget in document["items"] if "lists/poddisruptionbudgets.policy/" in name else ():
        if budget["metadata"]["name"] == "sale":
            budget["spec"]["minAvailable"] = 1
            budget["status"].update(desiredHealthy=1, disruptionsAllowed=1)


def of_field(name: str, document: dict[str, Any]) -> None:
    """A field of aws-node has the value that the add-on gives it."""
    for each in document["objects"] if name == "cluster-answers" else ():
        if each["of"]["name"] == "aws-node" and each["of"]["kind"] == "DaemonSet":
            for container in each["said"]["known"]["spec"]["template"]["spec"]["initContainers"]:
                for variable in container["env"]:
                    if variable["name"] == "DISABLE_TCP_EARLY_DEMUX":
                        variable["value"] = "false"


def of_hops(name: str, document: dict[str, Any]) -> None:
    """What NodePool reports launches can be reached from pods."""
    for each in document["items"] if "lists/ec2nodeclasses" in name else ():
        each["spec"].setdefault("metadataOptions", {})["httpPutResponseHopLimit"] = 2


EDITS: dict[str, Edit] = {"check": of_budget, "drain plan": of_budget, "addon-diff": of_field, "imds-probe": of_hops}
