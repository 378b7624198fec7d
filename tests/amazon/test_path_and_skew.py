"""The upgrade path of the control plane, the week in which an upgrade can be rolled back, and the version skew of
nodes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.versions import (
    ROLLBACK_CONDITIONS,
    Fit,
    NoPath,
    kube_proxy_kubelet_skew,
    kube_proxy_skew,
    kubelet_skew,
    minor_steps,
    rollback_time_left,
    skew_after_steps,
)
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import rule_basis
from kubectl_eksdoc.model.quantities import Version

NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
VERSIONS = st.builds(Version, st.just(1), st.integers(14, 60), st.none() | st.integers(0, 30))


def v(minor: int) -> Version:
    return Version(1, minor)


@pytest.mark.parametrize(("to", "rollback"), [(32, True), (31, False)])
def test_never_backwards(to: int, rollback: bool) -> None:
    refused = minor_steps(v(33), v(to))
    assert isinstance(refused, NoPath)
    assert ("rollback" in refused.reason) is rollback


def test_another_major_is_no_way() -> None:
    assert isinstance(minor_steps(v(33), Version(2, 0)), NoPath)


@given(VERSIONS, VERSIONS)
def test_every_step_is_one_minor_up(now: Version, target: Version) -> None:
    steps = minor_steps(now, target)
    if target.minor < now.minor:
        assert isinstance(steps, NoPath)
        return
    assert not isinstance(steps, NoPath)
    assert [each.minor for each in steps] == list(range(now.minor + 1, target.minor + 1))
    assert all(each.patch is None for each in steps)


@pytest.mark.parametrize(
    ("ago", "left"),
    [
        (timedelta(0), timedelta(days=7)),
        (timedelta(days=6, hours=23), timedelta(hours=1)),
        (timedelta(days=7), timedelta(0)),
        (timedelta(days=70), timedelta(0)),
    ],
)
def test_a_week_to_take_it_back(ago: timedelta, left: timedelta) -> None:
    assert rollback_time_left(NOW, NOW - ago) == left


def test_without_an_upgrade_nothing_is_taken_back() -> None:
    assert rollback_time_left(NOW, None) == timedelta(0)


def test_what_is_not_known_stays_unknown() -> None:
    denied = Unknown("not allowed", "eks:ListUpdates")
    assert rollback_time_left(NOW, denied) == denied
    assert isinstance(rollback_time_left(NOW, NOW + timedelta(seconds=1)), Unknown)


def test_conditions_and_doubts_say_how_sure_they_are() -> None:
    assert {each.source.confidence for each in ROLLBACK_CONDITIONS} == {Confidence.HIGH, Confidence.MEDIUM}
    doubts = {each.source.confidence for each in ROLLBACK_CONDITIONS if each.doubt}
    assert doubts == {rule_basis("equal-nodes").source.confidence} == {Confidence.MEDIUM}


@pytest.mark.parametrize(
    ("plane", "kubelet", "fit"),
    [
        (33, 30, Fit.FITS),
        (33, 29, Fit.TOO_OLD),
        (33, 34, Fit.TOO_NEW),
        (28, 25, Fit.FITS),
        (27, 24, Fit.TOO_OLD),
        (27, 25, Fit.FITS),
        (29, 25, Fit.TOO_OLD),
    ],
)
def test_kubelets_and_kube_proxies_against_the_policy(plane: int, kubelet: int, fit: Fit) -> None:
    assert kubelet_skew(v(plane), Version(1, kubelet, 9)).fit is fit
    assert kube_proxy_skew(Version(1, plane, 2), v(kubelet)).fit is fit


def test_unknown_versions_stay_unknown() -> None:
    for rule in (kubelet_skew, kube_proxy_skew, kube_proxy_kubelet_skew):
        assert rule(v(33), None).fit is Fit.UNKNOWN
        assert rule(v(33), Version(2, 0)).fit is Fit.UNKNOWN
    assert kube_proxy_kubelet_skew(None, v(33)).fit is Fit.UNKNOWN


@pytest.mark.parametrize(
    ("proxy", "kubelet", "fit"),
    [
        (33, 30, Fit.FITS),
        (33, 36, Fit.FITS),
        (33, 29, Fit.TOO_NEW),
        (33, 37, Fit.TOO_OLD),
        (24, 26, Fit.FITS),
        (24, 27, Fit.TOO_OLD),
        (24, 21, Fit.TOO_NEW),
    ],
)
def test_kube_proxy_beside_a_kubelet(proxy: int, kubelet: int, fit: Fit) -> None:
    assert kube_proxy_kubelet_skew(v(proxy), v(kubelet)).fit is fit


def test_after_each_step() -> None:
    steps = minor_steps(v(30), v(33))
    assert not isinstance(steps, NoPath)
    after = skew_after_steps(Version(1, 30, 4), steps, v(29), kubelet_skew)
    assert [(each.version.minor, each.verdict.fit) for each in after] == [
        (30, Fit.FITS),
        (31, Fit.FITS),
        (32, Fit.FITS),
        (33, Fit.TOO_OLD),
    ]


def test_it_says_why() -> None:
    assert kubelet_skew(v(33), v(32)).reason == "the kubelet (1.32) is 1 minor behind, 3 are allowed"
    assert kube_proxy_skew(v(33), v(29)).reason == "kube-proxy (1.29) is 4 minors behind, 3 are allowed"
    assert kubelet_skew(v(32), v(33)).reason == (
        "the kubelet (1.33) is newer than the control plane (1.32), which is never allowed"
    )
    assert (
        kube_proxy_kubelet_skew(v(24), v(27)).reason == "kube-proxy is 3 minors older than the kubelet, 2 are allowed"
    )
    assert (
        kube_proxy_kubelet_skew(v(24), v(21)).reason == "kube-proxy is 3 minors newer than the kubelet, 2 are allowed"
    )
    assert kube_proxy_kubelet_skew(None, v(27)).reason == "the version of kube-proxy is unknown"
    assert kube_proxy_kubelet_skew(v(27), None).reason == "the version of the kubelet is unknown"
