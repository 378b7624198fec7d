"""Who asks for a change of CoreDNS, in which surroundings, and how they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kubectl_eksdoc.cli import reaching
from kubectl_eksdoc.cli.dns.change_options import DnsApply
from kubectl_eksdoc.cli.opening import Asked
from kubectl_eksdoc.cli.surroundings import Surroundings

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.core.plan.dns.change.wishes import Wishes
    from kubectl_eksdoc.render.dns_change import DnsChangeView
    from kubectl_eksdoc.wiring.addons import AddonWorld


class Request(Asked, Protocol):
    """Whose CoreDNS it is, and how it is answered."""

    @property
    def accepted(self) -> tuple[str, ...]:
        """Finding codes that may be unknown."""
        ...

    @property
    def without(self) -> tuple[str, ...]:
        """Opt-ins that are left out."""
        ...

    @property
    def given(self) -> Mapping[str, object]: ...


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks for what, in which surroundings. `wishes` None: a change that was begun before is looked at again."""

    request: Request
    wishes: Wishes | None
    apply: DnsApply | None
    around: Surroundings

    @property
    def output(self) -> str:
        return self.request.options.output

    @property
    def live(self) -> bool:
        return self.request.source.live

    def reached_by(self, world: AddonWorld) -> tuple[str, ...]:
        """The words that lead to the same cluster, of ours."""
        if self.request.source.demo:
            return ("--demo", "--dry-run")  # nothing of it can be changed
        return reaching.with_aws(self.request.source, self.request.options, world.cluster.identity.context)

    def kubectl(self, world: AddonWorld) -> tuple[str, ...]:
        return reaching.words(self.request.source, self.request.options, world.cluster.identity.context)


def rendered(asking: Asking, view: DnsChangeView) -> str:
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.render.dns_change import FORMATS

    around = asking.around
    look = looks.decide(asking.request.options, around.stdout, around.environ)
    return FORMATS.render(view, asking.output, look)


def as_data(asking: Asking, view: DnsChangeView) -> str:
    """Nothing on stdout for who reads a table: it was shown on stderr."""
    return rendered(asking, view) if asking.output in ("json", "yaml") else ""
