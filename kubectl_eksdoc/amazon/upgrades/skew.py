"""How far kubelets and kube-proxies may be behind the control plane, now and after each step.

Sources: kubernetes.io, Version Skew Policy (kubelet, kube-proxy); EKS user guide, update-cluster. Patches do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.amazon.upgrades.sourced import Fit, SourcedVerdict, in_words, minor_of
from kubectl_eksdoc.model.asked import Confidence
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.quantities import Version

POLICY = KnowledgeSource("kubernetes.io, Version Skew Policy; EKS user guide, update-cluster")

FEW, MANY = 2, 3
_MANY_SINCE = Version(1, 25)
"""A kubelet or kube-proxy of 1.25 or newer may be three minors behind, which API servers of 1.28 are the first to
meet; older ones two."""


@dataclass(frozen=True, slots=True)
class Caveat:
    """What speaks against a rule here, and who says so."""

    text: str
    source: KnowledgeSource


EQUAL_NODES = Caveat(
    "UpdateClusterVersion and the first lines of the user guide's page ask that managed and Fargate nodes have the"
    " cluster's version before it is updated; further down that page allows the skew, and the insight on kubelet skew"
    " is what EKS goes by in practice",
    KnowledgeSource("botocore 1.44.5 eks, UpdateClusterVersion; EKS user guide, update-cluster", Confidence.MEDIUM),
)


def may_be_behind(version: Version) -> int:
    """Minors that a kubelet or kube-proxy of that version may be older than the API server."""
    return FEW if minor_of(version) < _MANY_SINCE else MANY


def kubelet_skew(control_plane: Version, kubelet: Version | None) -> SourcedVerdict:
    """Whether the API server serves this kubelet; None: its version is not known."""
    return _behind("the kubelet", control_plane, kubelet)


def kube_proxy_skew(control_plane: Version, kube_proxy: Version | None) -> SourcedVerdict:
    """The same for a kube-proxy."""
    return _behind("kube-proxy", control_plane, kube_proxy)


def beside_kubelet(kube_proxy: Version | None, kubelet: Version | None) -> SourcedVerdict:
    """Whether a kube-proxy may run on a node with that kubelet: as many minors older or newer."""
    if kube_proxy is None or kubelet is None:
        return SourcedVerdict(
            Fit.UNKNOWN, f"the version of {'kube-proxy' if kube_proxy is None else 'the kubelet'} is unknown"
        )
    if kube_proxy.major != kubelet.major:
        return SourcedVerdict(Fit.UNKNOWN, "they are of different major versions")
    apart, most = kubelet.minor - kube_proxy.minor, may_be_behind(kube_proxy)
    if abs(apart) <= most:
        return SourcedVerdict(Fit.FITS, f"{_minors(abs(apart))} apart, {most} are allowed", POLICY)
    fit, word = (Fit.TOO_OLD, "older") if apart > 0 else (Fit.TOO_NEW, "newer")
    return SourcedVerdict(
        fit, f"kube-proxy is {_minors(abs(apart))} {word} than the kubelet, {most} are allowed", POLICY
    )


@dataclass(frozen=True, slots=True)
class AfterStep:
    """`verdict` once the control plane has `version`, the rest being left as it is."""

    version: Version
    verdict: SourcedVerdict


Rule = Callable[[Version, Version | None], SourcedVerdict]
"""`kubelet_skew` or `kube_proxy_skew`."""


def along(now: Version, steps: Sequence[Version], other: Version | None, rule: Rule) -> tuple[AfterStep, ...]:
    """Now, and after each of the steps of a path."""
    return tuple(AfterStep(minor_of(each), rule(each, other)) for each in (now, *steps))


def reach(other: Version) -> Version:
    """The last version that the control plane may get before this kubelet or kube-proxy must be upgraded."""
    return Version(other.major, other.minor + may_be_behind(other))


def _behind(what: str, control_plane: Version, other: Version | None) -> SourcedVerdict:
    if other is None:
        return SourcedVerdict(Fit.UNKNOWN, f"the version of {what} is unknown")
    if other.major != control_plane.major:
        return SourcedVerdict(Fit.UNKNOWN, f"{what} and the control plane are of different major versions")
    behind, most = control_plane.minor - other.minor, may_be_behind(other)
    if behind < 0:
        why = f"{what} ({in_words(minor_of(other))}) is newer than the control plane"
        return SourcedVerdict(
            Fit.TOO_NEW, f"{why} ({in_words(minor_of(control_plane))}), which is never allowed", POLICY
        )
    said = f"{what} ({in_words(minor_of(other))}) is {_minors(behind)} behind, {most} are allowed"
    return SourcedVerdict(Fit.FITS if behind <= most else Fit.TOO_OLD, said, POLICY)


def _minors(number: int) -> str:
    return f"{number} minor{'' if number == 1 else 's'}"
