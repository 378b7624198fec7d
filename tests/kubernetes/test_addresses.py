"""Redaction of addresses in printed and stored texts."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kubernetes.guards import redact_url, redact_urls, strip_user_info


@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("https://ABC.gr7.eu-west-1.eks.amazonaws.com", "https://ABC.gr7.eu-west-1.eks.amazonaws.com"),
        ("https://rancher.example.com/k8s/clusters/c-1", "https://rancher.example.com/k8s/clusters/c-1"),
        ("http://admin:hunter2@10.0.0.1:6443", "http://10.0.0.1:6443"),
        ("http://hunter2@10.0.0.1:6443/", "http://10.0.0.1:6443/"),
        ("http://admin:hun@ter2@10.0.0.1", "http://10.0.0.1"),
        ("http://admin:hun/ter2@10.0.0.1:1", "http://10.0.0.1:1"),
        ("http://admin:1/hunter2@10.0.0.1", "http://admin:1"),
        ("http://admin:hun?ter#2@10.0.0.1", "http://10.0.0.1"),
        ("http://admin:hun ter2@10.0.0.1", "http://10.0.0.1"),
        ("http://admin:hun://ter2@10.0.0.1", "http://10.0.0.1"),
        ("https://admin:hunter2@[fd00::7]:6443/api", "https://[fd00::7]:6443/api"),
        ("http://127.0.0.1:40000/as/hunter2", "http://127.0.0.1:40000"),
        ("http://127.0.0.1:40000/as/hunter2/api/v1/pods", "http://127.0.0.1:40000/api/v1/pods"),
        ("https://login.example.com/?token=hunter2#hunter2", "https://login.example.com/"),
        ("admin:hunter2@proxy:3128", "proxy:3128"),
        ("proxy:3128", "proxy:3128"),
        ("somewhere", "somewhere"),
        ("", ""),
    ],
)
def test_of_one(url: str, printed: str) -> None:
    assert redact_url(url) == printed
    assert redact_url(printed) == printed


def test_in_a_text() -> None:
    text = "Failed to parse: 'http://u:hunter2@h:1/as/hunter2/api?sig=hunter2', (see https://example.com/a)."
    assert redact_urls(text) == "Failed to parse: 'http://h:1/api', (see https://example.com/a)."
    assert redact_urls("Max retries exceeded with url: /as/hunter2/api/v1/pods") == (
        "Max retries exceeded with url: /api/v1/pods"
    )
    assert redact_urls("user@example.com asks for a/b") == "user@example.com asks for a/b"


def test_whose_it_is_alone() -> None:
    """A digest of an address distinguishes two users of a rehearsal; unlike passwords, their tokens cannot be
    guessed."""
    assert strip_user_info("http://u:p@127.0.0.1:1/as/token") == "http://127.0.0.1:1/as/token"
