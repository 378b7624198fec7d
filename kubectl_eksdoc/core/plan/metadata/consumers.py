"""Programs that are known to ask the instance metadata service, and how each does without.

Recognised by the name of their image; what is not in knowledge/software.json may ask it all the same, through its SDK.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.knowledge import Source, sections
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.upgrades.images import by_image


@dataclass(frozen=True, slots=True)
class Started:
    """With what a container of the pod was started: its arguments, and the names of its variables. `more_variables`:
    there are others, from a ConfigMap or a Secret (envFrom), whose names are not known."""

    arguments: Sequence[str] = ()
    variables: Sequence[str] = ()
    more_variables: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """`what` it looks for there, and what tells it instead: any of `flags` or of `variables`."""

    what: str
    flags: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    def met(self, by: Started) -> bool:
        given = {argument.partition("=")[0] for argument in by.arguments}
        return not given.isdisjoint(self.flags) or not set(by.variables).isdisjoint(self.variables)

    def may_be_met(self, by: Started) -> bool:
        """By a variable that is set somewhere else, and is not known."""
        return by.more_variables and bool(self.variables)


@dataclass(frozen=True, slots=True)
class Consumer:
    """`images`: ends of its images' repositories. `asks`: whether it calls AWS at all as it is shipped. `credentials`:
    it needs those of its node where it has no role of its own. `falls_back`: without an answer it goes on by itself,
    and how; "" if it does not. `on_host`: it comes with the network of its host, where the hop limit does not matter.
    `agents_without`: its DaemonSet calls AWS for nothing, only its controller does. `way_out`: what to set, for people.
    """

    name: str
    images: tuple[str, ...]
    source: Source
    asks: bool = True
    needs: tuple[Need, ...] = ()
    way_out: str = ""
    credentials: bool = True
    falls_back: str = ""
    on_host: bool = False
    agents_without: bool = False

    def needs_credentials(self, pod: Pod) -> bool:
        agent = pod.of_daemon_set
        return self.credentials and not (agent and self.agents_without)

    def lacks(self, started: Started) -> tuple[Need, ...]:
        """The needs that surely nothing it was started with meets."""
        return tuple(need for need in self.needs if not need.met(started) and not need.may_be_met(started))

    def may_lack(self, started: Started) -> tuple[Need, ...]:
        """The needs of which that is not known."""
        return tuple(need for need in self.needs if not need.met(started) and need.may_be_met(started))


CONSUMERS = sections(Consumer, "software", "metadata")
_BY_IMAGE = {image: each for each in CONSUMERS for image in each.images}


def asks_nothing(image: str) -> bool:
    """Whether its program is known to have nothing to ask there."""
    known = by_image(_BY_IMAGE, image)
    return known is not None and not known.asks


def consumer_of(image: str) -> Consumer | None:
    """By its name, whatever registry it came from; None if it is none that is known to ask."""
    known = by_image(_BY_IMAGE, image)
    return known if known is not None and known.asks else None
