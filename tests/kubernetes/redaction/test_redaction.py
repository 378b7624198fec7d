"""Redaction of words, paths, addresses and texts: the parts that it keeps, and that it never keeps a likely secret."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.redaction import (
    DIGEST_PREFIX,
    Digester,
    Redactor,
    is_digest,
    redact_known_forms,
)

KEEP = Redactor(Digester(b"a key"))

SECRETS = (
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabcdef\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "glpat-abcdefghij0123456789",
    "xoxb-123456789012-abcdefghij",
)


@pytest.mark.parametrize("secret", SECRETS)
@given(before=st.text(alphabet=" \n:='{},", max_size=5), after=st.text(alphabet=" \n,;}", max_size=5))
def test_a_text_that_is_kept_is_kept_without_it(secret: str, before: str, after: str) -> None:
    kept = KEEP.text(f"reload 30s{before} {secret} {after}ready")
    assert secret not in kept
    assert kept.startswith("reload 30s")


@pytest.mark.parametrize(
    "name",
    [
        *("sig", "Signature", "access_token", "X-Amz-Signature", "X-Amz-Credential", "api_key"),
        *("X-Amz-Security-Token", "x-goog-signature", "code", "Policy", "Key-Pair-Id", "AWSAccessKeyId"),
    ],
)
@pytest.mark.parametrize("secret", ["hunter2", "h2%2Fx+y=="])
def test_what_signs_a_url_is_not_kept(name: str, secret: str) -> None:
    url = "https://sqs.eu-west-1.amazonaws.com/1/q"
    for text in (
        f"{url}?{name}={secret}",
        f"see {url}?a=b&{name}={secret}&c=d",
        f"{url}%3Fa%3Db%26{name}%3D{secret}%26c%3Dd",
        f'{{"url":"{url}?a=b\\u0026{name}={secret}\\u0026c=d"}}',
    ):
        for kept in (KEEP.text(text), KEEP.redact_forms(text), KEEP.variable("INTERRUPTION_QUEUE", text)):
            assert secret not in kept and url in kept
            assert ("c=d" in text or "c%3Dd" in text) == ("c=d" in kept or "c%3Dd" in kept)
    assert KEEP.text(f"{url}?design={secret}&monkey=1") == f"{url}?design={secret}&monkey=1"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password=hunter2", "password="),
        ('"api_key": "abcd1234"', '"api_key": "'),
        ("https://me:hunter2@example.com/x", "@example.com/x"),
        ("route53 example.com {\n aws_access_key ID SECRETSECRET\n}", "aws_access_key"),
        ("Authorization: Bearer abcdefgh12345678", "Bearer "),
        ("Authorization: Basic hunter2hunter2", "Basic "),
        ("etcd {\n  credentials root hunter2\n}", "credentials "),
        ("tsig {\n  secret k.example. hunter2\n}", "secret "),
        ("redis://:hunter2@cache", "@cache"),
        ("AccountKey=hunter2==;", "AccountKey="),
        ("Server=db;Pwd=hunter2;", "Pwd="),
        ('{"msg":"{\\"password\\":\\"hunter2\\"}"}', "password"),
    ],
)
def test_what_is_named_a_secret_is_none_any_more(text: str, kept: str) -> None:
    found = KEEP.text(text)
    assert kept in found
    assert DIGEST_PREFIX in found
    assert not [word for word in ("hunter2", "abcd1234", "SECRETSECRET", "abcdefgh12345678") if word in found]


@pytest.mark.parametrize(
    "text",
    [
        ".:53 {\n    errors\n    health {\n        lameduck 5s\n    }\n    forward . /etc/resolv.conf\n}",
        "arn:aws:iam::111122223333:role/KarpenterControllerProdUsEast1Role0",
        "602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/coredns:v1.11.4-eksbuild.14",
        "sha256:" + "0123456789abcdef" * 4,
        "/var/run/secrets/eks.amazonaws.com/serviceaccount/token",
    ],
)
def test_what_is_judged_stays_as_it_is(text: str) -> None:
    assert KEEP.text(text) == text


def test_flags_stay_by_name() -> None:
    assert KEEP.variable("EXTERNAL_DNS_PROVIDER", "aws") == "aws"
    assert is_digest(KEEP.words(["--password", "123456"])[1])
    assert is_digest(KEEP.words(["login", "oversleep", "123456"])[2])
    line = KEEP.text("route53 a.:Z {\n    aws_access_key ID SECRET\n}").splitlines()[1]
    assert [is_digest(word) for word in line.split()] == [False, True, True], "as many words as before"
    name, _, value = KEEP.words(["--token=abc"])[0].partition("=")
    assert (name, is_digest(value)) == ("--token", True)


@pytest.mark.parametrize(
    "words",
    [["sh", "-c", "sleep 5"], ["/bin/sleep", "15"], ["--criSocket=/run/x/cri.sock"]]
    + [["--cluster-name", "prod", "--v=2"], ["--cloud-provider=aws", "--provider", "aws", "--metadata-sources=imds"]],
)
def test_plain_sleeps_and_sockets_stay(words: list[str]) -> None:
    assert KEEP.words(words) == words


@pytest.mark.parametrize(
    "words",
    [
        ["mysql", "-phunter2"],
        ["app", "--db-token", "--hunter2"],
        ["app", "hunter2.sock"],
        ["app", "-phunter2=/run/a.sock"],
        ["app", "PGPASSWORD=hunter2"],
        ["sh", "-c", "sleep 5; curl -u me:hunter2 unix:///run/a.sock"],
    ],
)
def test_what_may_be_a_value_is_no_flag_and_no_socket(words: list[str]) -> None:
    assert "hunter2" not in " ".join(KEEP.words(words))


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://127.0.0.1:23443/mutate", "https://127.0.0.1:23443/mutate"),
        ("https://me:pw@hook.example/x?token=abc", "https://hook.example/x"),
        ("https://hook.example", "https://hook.example"),
    ],
)
def test_an_address_stays_without_who_logs_in(url: str, kept: str) -> None:
    assert KEEP.url(url) == kept


@pytest.mark.parametrize(
    ("path", "stays"),
    [
        *(("/", True), ("/healthz", True), ("/api/v1/health", True), ("/apis/x.io/v1beta1", True)),
        *(("/live/hunter2", False), ("/8f14e45fceea167a", False), ("/" + "a" * 21, False), ("/a?b", False)),
    ],
)
def test_a_path_stays_whose_names_are_words(path: str, stays: bool) -> None:
    assert (KEEP.path(path) == path) is stays
    assert is_digest(KEEP.path(path)) is not stays


def test_digests_tell_equal_ones_and_nothing_else() -> None:
    one, other = Digester(b"one"), Digester(b"other")
    assert one.digest("hunter2") == one.digest(one.digest("hunter2")) != one.digest("hunter3")
    assert one.digest("hunter2") != other.digest("hunter2") and one.digest("") == ""


@given(st.text(alphabet='ab"\\\n/', max_size=12), st.text(alphabet='ab"\\\n/', max_size=12))
def test_json_stays_json_whatever_stands_around_a_secret(before: str, after: str) -> None:
    for secret in SECRETS:
        body = json.dumps({"a": f"{before}{secret}{after}", "b": [after], "c": secret})
        told = json.loads(redact_known_forms(body, Digester(b"x").digest))
        assert told["b"] == [after]
        assert (DIGEST_PREFIX in told["c"] and secret not in told["c"]) or not secret.startswith(("A", "-", "gh", "gl"))


@given(st.lists(st.text(max_size=30), max_size=8))
def test_words_stay_as_many(words: list[str]) -> None:
    assert len(KEEP.words(words)) == len(words)
