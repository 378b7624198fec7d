"""What is done so that pods reach the instance metadata service: effects as data, each with what was there before.

Tokens stay as they are: IMDSv1 is never allowed for the sake of a pod.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model.aws.machines import MetadataOptions, SaidOptions


@dataclass(frozen=True, slots=True)
class SetOptions:
    """ModifyInstanceMetadataOptions of the running `instance` behind `node`: nothing is replaced or restarted."""

    node: str
    instance: str
    before: MetadataOptions
    hop_limit: int

    @property
    def after(self) -> MetadataOptions:
        """What it has then, once EC2 has applied it."""
        return replace(self.before, hop_limit=self.hop_limit, endpoint=True, pending=False)

    def __str__(self) -> str:
        on = "" if self.before.endpoint else ", endpoint enabled"
        return f"{self.instance} ({self.node}): hop limit {self.before.hop_limit} → {self.hop_limit}{on}"


@dataclass(frozen=True, slots=True)
class OnInstances:
    """One call for each."""

    each: tuple[SetOptions, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(one.node for one in self.each)


@dataclass(frozen=True, slots=True)
class OnTemplate:
    """A new version of the launch template `id`, built on its version `source`, and the update of the managed node
    group `group` to it. `version` and `release` are those of today, so that the AMI stays, both "" where the template
    names an AMI itself: EKS refuses them then. `nodes` are those that it replaces."""

    group: str
    id: str
    source: int
    before: SaidOptions
    hop_limit: int
    version: str
    release: str
    nodes: tuple[str, ...]

    @property
    def after(self) -> SaidOptions:
        """All that the new version says of it, as what it says replaces what its source says."""
        on = True if self.before.endpoint is False else self.before.endpoint
        return replace(self.before, hop_limit=self.hop_limit, endpoint=on)


@dataclass(frozen=True, slots=True)
class OnClass:
    """A patch of the EC2NodeClass `name`; `before` None: it says nothing of it. `nodes` are those that drift then.
    `switch`: its endpoint is disabled, and becomes enabled."""

    name: str
    before: int | None
    hop_limit: int
    nodes: tuple[str, ...]
    switch: bool = False


Act = OnInstances | OnTemplate | OnClass
