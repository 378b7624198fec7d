"""Whether two observations are of one cluster: plans of different ones must not stand side by side."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model.cluster import Identity


class Sameness(str, Enum):
    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"  # what is known of both does not decide it


@dataclass(frozen=True, slots=True)
class Kinship:
    """`why` is a clause without its full stop, "" for the same cluster."""

    sameness: Sameness
    why: str = ""


def kinship(saved: Identity, now: Identity) -> Kinship:
    """The uid of Namespace kube-system decides, whatever the names are; without both, the names.

    A cluster's name is unique in an account and region. A context is a name of one's own for a cluster: two
    different ones may mean the same cluster, so that they alone decide nothing.
    """
    if saved.uid and now.uid:
        if saved.uid == now.uid:
            return Kinship(Sameness.SAME)
        return Kinship(Sameness.OTHER, f"it has {_named(saved)}, this one has {_named(now)} (their uids differ)")
    places = (
        (saved.cluster, now.cluster),
        (saved.account, now.account),
        (saved.region, now.region),
    )
    if any(before and after and before != after for before, after in places):
        return Kinship(Sameness.OTHER, f"it has {_named(saved)}, this one has {_named(now)}")
    whole = all(before and after for before, after in places)
    if whole or (saved.context and saved.context == now.context):
        return Kinship(Sameness.SAME)
    return Kinship(Sameness.UNKNOWN, f"the baseline has {_named(saved)}, this plan has {_named(now)}")


def _named(who: Identity) -> str:
    """``cluster shop in account 1 in eu-west-1 (context prod)``, as far as it is known."""
    if not (who.cluster or who.context or who.account or who.region):
        return "no name"
    words = [f"cluster {who.cluster or 'unknown'}"]
    words += [f"in account {who.account}"] if who.account else []
    words += [f"in {who.region}"] if who.region else []
    words += [f"(context {who.context})"] if who.context else []
    return " ".join(words)
