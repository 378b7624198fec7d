"""Metrics and log of a CoreDNS pod show which Corefile it runs; missing or partial data never passes."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.coredns_lameduck.run import (
    ExpectedReload,
    PodVerification,
    ReloadLog,
    ReloadMetrics,
    ReloadObservation,
    ReloadState,
    VerificationResult,
    metrics_port,
    parse_log,
    parse_metrics,
    verification_findings,
    verify_pod,
)
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Unknown
from tests.builders import a_pod

NEW, OLD, MD5 = "a" * 128, "b" * 128, "c" * 32
POD = a_pod("coredns-1", "kube-system", node="n-a")
WANTED = ExpectedReload((NEW, MD5), {POD.key: 0.0})
RUNS_NEW = f"[INFO] Reloading\n[INFO] plugin/reload: Running configuration SHA512 = {NEW}\n[INFO] Reloading complete\n"
FAILS = "[ERROR] plugin/reload: Corefile changed but reload failed: plugin/health: address in use\n"
NO_LOG = Unknown("RBAC forbids it", "get pods/log")
NO_METRICS = Unknown("RBAC forbids it", "get pods/proxy")


def metrics(digest: str = "", failed: int = 0) -> str:
    text = f"coredns_cache_entries 7\ncoredns_reload_failed_total {failed}\n"
    return text + (f'coredns_reload_version_info{{hash="sha512",value="{digest}"}} 1\n' if digest else "")


def found(metrics: str | Unknown, log: str | Unknown, wanted: ExpectedReload = WANTED) -> PodVerification:
    return verify_pod(POD, ReloadObservation(metrics, log), wanted)


def test_what_is_printed_is_read() -> None:
    assert parse_metrics(metrics(NEW, 3)) == ReloadMetrics(NEW, 3.0) and parse_metrics("up 1\n") is None
    assert parse_metrics("coredns_reload_failed_count_total 2\n") == ReloadMetrics("", 2.0)
    assert parse_log(RUNS_NEW) == ReloadLog(NEW)
    assert parse_log(f"[INFO] plugin/reload: Running configuration MD5 = {MD5}\n") == ReloadLog(MD5)
    assert parse_log(f"{RUNS_NEW}{FAILS}").refused == "plugin/health: address in use", "the last word counts"
    assert parse_log(f"{FAILS}{RUNS_NEW}") == ReloadLog(NEW)


@pytest.mark.parametrize(
    ("said", "port"),
    [
        ("prometheus :9153", 9153),
        ("prometheus 0.0.0.0:9253", 9253),
        ("prometheus", None),
        ("prometheus localhost:9153", None),
    ],
)
def test_only_a_port_that_others_reach_is_asked(said: str, port: int | None) -> None:
    assert metrics_port(f".:53 {{\n {said}\n}}\n") == port
    assert metrics_port(".:53 {") is None


def test_the_metric_alone_is_believed_only_if_nothing_failed() -> None:
    """The metric shows the new Corefile even if CoreDNS rejected it."""
    assert found(metrics(NEW), NO_LOG).taken is ReloadState.VERIFIED
    assert found(metrics(NEW, 1), NO_LOG).taken is ReloadState.REFUSED
    before = ExpectedReload((NEW,), {POD.key: 4.0})
    assert found(metrics(NEW, 4), NO_LOG, before).taken is ReloadState.VERIFIED
    assert found(metrics(NEW, 5), NO_LOG, before).taken is ReloadState.REFUSED
    not_known = found(metrics(NEW, 1), NO_LOG, ExpectedReload((NEW,), {POD.key: None}))
    assert not_known.taken is ReloadState.UNKNOWN and not_known.missing == ("get pods/log",)


def test_the_log_tells_by_itself() -> None:
    assert found(NO_METRICS, RUNS_NEW) == PodVerification(POD.key, "n-a", ReloadState.VERIFIED, "log")
    refused = found(metrics(NEW, 1), FAILS)
    assert refused.taken is ReloadState.REFUSED and "address in use" in refused.why
    assert (
        found(NO_METRICS, f"[INFO] plugin/reload: Running configuration SHA512 = {OLD}\n").taken is ReloadState.NOT_YET
    )
    assert found(NO_METRICS, "").taken is ReloadState.NOT_YET
    assert found(metrics(OLD), "").taken is ReloadState.NOT_YET


def test_silence_is_no_pass() -> None:
    blind = found(NO_METRICS, NO_LOG)
    assert blind.taken is ReloadState.UNKNOWN and set(blind.missing) == {"get pods/log", "get pods/proxy"}
    assert found("up 1\n", NO_LOG).taken is ReloadState.UNKNOWN
    since = ExpectedReload((NEW,), {})
    assert found(metrics(), NO_LOG, since).taken is ReloadState.UNKNOWN, "who starts with it has no metric of it"
    assert found(metrics(), NO_LOG).taken is ReloadState.NOT_YET
    assert found(metrics(NEW), RUNS_NEW, ExpectedReload((), {})).taken is ReloadState.UNKNOWN


def test_what_it_means_is_a_finding_each() -> None:
    stands = tuple(
        PodVerification(f"kube-system/{each.name}", "n", each, "", "so it is", ("get x",)) for each in ReloadState
    )
    told = {each.subject.name: each for each in verification_findings(VerificationResult(stands, 3.0), True)}
    assert set(told) == {"NOT_YET", "REFUSED", "UNKNOWN"}
    assert told["UNKNOWN"].status is Status.UNKNOWN and told["REFUSED"].status is Status.FAIL
    (blind,) = verification_findings(VerificationResult((found(NO_METRICS, NO_LOG),), 3.0), True)
    assert "permissions COMMAND --with proxy" in " ".join(each.text for each in blind.remedy)
    assert [each.remedy[0].command for each in verification_findings(None, False)] == [
        "kubectl rollout restart deployment/coredns -n kube-system"
    ]
    assert verification_findings(None, True) == () and not VerificationResult((), 0.0).all
    assert [
        each.status for each in verification_findings(VerificationResult((), 1.0, unread="no pod is there"), True)
    ] == [Status.UNKNOWN]
