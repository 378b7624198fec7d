"""Whether two observations are of one cluster: answers about different ones must not stand side by side."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from kubectl_eksdoc.core.model.cluster import Cluster, Identity, Source


class Saved(Protocol):
    """What was saved: whose cluster it is about, where its data is from, and the uids of objects of that cluster."""

    @property
    def identity(self) -> Identity: ...

    @property
    def source(self) -> Source: ...

    @property
    def uids(self) -> frozenset[str]: ...


class Sameness(str, Enum):
    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"  # what is known of both does not decide it


@dataclass(frozen=True, slots=True)
class Kinship:
    """`why` is a clause without its full stop, "" for the same cluster."""

    sameness: Sameness
    why: str = ""


def kinship(baseline: Saved, now: Cluster, saved_one: str = "the baseline", this_one: str = "this plan") -> Kinship:
    """The uid of Namespace kube-system decides, whatever the names are; without both, an object in both does.

    Else the names: a cluster's is unique in an account and region. A context is a name of one's own for a cluster:
    two different ones may mean the same cluster, so that they alone decide nothing.
    """
    saved, here = baseline.identity, now.identity
    other = f"it has {_named(saved)}, this one has {_named(here)}"
    if saved.uid and here.uid:
        if saved.uid == here.uid:
            return Kinship(Sameness.SAME)
        return Kinship(Sameness.OTHER, f"{other} (their uids differ)")
    if not baseline.uids.isdisjoint(uids_of(now)):
        return Kinship(Sameness.SAME)
    if (baseline.source is Source.DEMO) != (now.source is Source.DEMO):
        return Kinship(Sameness.OTHER, f"{other} (one is the demo)")
    places = ((saved.cluster, here.cluster), (saved.account, here.account), (saved.region, here.region))
    if any(before and after and before != after for before, after in places):
        return Kinship(Sameness.OTHER, other)
    whole = all(before and after for before, after in places)
    if whole or (saved.context and saved.context == here.context):
        return Kinship(Sameness.SAME)
    return Kinship(Sameness.UNKNOWN, f"{saved_one} has {_named(saved)}, {this_one} has {_named(here)}")


def uids_of(cluster: Cluster) -> frozenset[str]:
    """Of objects that no other cluster has. What was written by hand may have none."""
    return frozenset((*(node.uid for node in cluster.nodes), *(budget.uid for budget in cluster.budgets))) - {""}


def _named(who: Identity) -> str:
    """``cluster shop in account 1 in eu-west-1 (context prod)``, as far as it is known."""
    if not (who.cluster or who.context or who.account or who.region):
        return "a cluster of unknown name"
    words = [f"cluster {who.cluster}" if who.cluster else "a cluster of unknown name"]
    words += [f"in account {who.account}"] if who.account else []
    words += [f"in {who.region}"] if who.region else []
    words += [f"(context {who.context})"] if who.context else []
    return " ".join(words)
