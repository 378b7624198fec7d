"""Printed values and Corefiles: without comments and secrets, and otherwise unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.fields import AddonField, value_text
from kubectl_eksdoc.addon_diff.report.update import redacted_text, values_argument
from kubectl_eksdoc.kubernetes.redaction import redact_corefile, redact_value
from kubectl_eksdoc.model.api_objects import ObjectName

COREFILE = """.:53 {
    errors # call ann, PIN hunter2
    health {
        lameduck 5s
    }
#
    route53 example.org.:Z1 {
        aws_access_key AKIAIOSFODNN7EXAMPLE hunter2hunter2
    }
}
"""


def test_a_corefile_keeps_its_lines_and_directives() -> None:
    shown = redact_corefile(COREFILE)
    assert "hunter2" not in shown and "AKIA" not in shown
    assert shown.splitlines()[1:6] == ["    errors # …", "    health {", "        lameduck 5s", "    }", "#"]
    plain = "\n".join(line for line in COREFILE.splitlines() if "#" not in line and "aws_access" not in line)
    assert redact_corefile(plain) == plain


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({"podAnnotations": {"token": "hunter2"}}, {"podAnnotations": {"token": "…"}}),
        (
            {"env": [{"name": "API_KEY", "value": "hunter2"}, {"name": "LEVEL", "value": "debug"}]},
            {"env": [{"name": "API_KEY", "value": "…"}, {"name": "LEVEL", "value": "debug"}]},
        ),
        ({"dsn": "https://ann:hunter2@h.example.com/1"}, {"dsn": "https://h.example.com/1"}),
        ({"corefile": "a { # hunter2\n}"}, {"corefile": "a { # …\n}"}),
        ({"env": {"SITE": "d41d8cd98f00b204e9800998ecf8427e"}}, {"env": {"SITE": "…"}}),
        ({"extra": ["--site=Xk29vQpL0aZs7RtYw3Bn"]}, {"extra": ["--site=…"]}),
        ({"env": {"SITE": "ghu_16C7e42F292c6912E7710c838347Ae178B4a"}}, {"env": {"SITE": "…"}}),
    ],
)
def test_values_that_hold_a_secret(values: dict[str, Any], shown: dict[str, Any]) -> None:
    assert redact_value(values) == shown
    assert values_argument(values) == "file://values.json"  # a command with … in it would send that


@pytest.mark.parametrize(
    "values",
    [
        {"env": {"ENABLE_POD_ENI": "true", "AWS_VPC_K8S_CNI_EXTERNALSNAT": "true"}},
        {"env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": "a"}}}]},
        {"secretName": "tls-of-web", "tokenExpiration": "3600", "imagePullSecrets": [{"name": "registry"}]},
        {"env": {"CLUSTER_ENDPOINT": "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com"}},
        {"image": f"602401143452.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni@sha256:{'0a1b' * 16}"},
        {"checksum/config": "d41d8cd98f00b204e9800998ecf8427e"},
        {"replicaCount": 2, "tolerations": [], "serviceAccount": None, "enabled": True},
    ],
)
def test_other_values_stay(values: dict[str, Any]) -> None:
    assert redact_value(values) == values
    assert values_argument(values).startswith("{")


def test_a_parameter_of_an_update_is_json_or_a_text() -> None:
    assert redacted_text('{"env": {"MY_TOKEN": "hunter2"}}') == '{"env": {"MY_TOKEN": "…"}}'
    assert redacted_text('{"a":1}') == '{"a":1}'
    assert redacted_text("v1.12.6-eksbuild.1") == "v1.12.6-eksbuild.1"
    assert redacted_text("password=hunter2") == "password=…"
    assert redacted_text("env:\n  SITE: q7Zp0fK2vXw9Lr4TnB8s\n") == "env:\n  SITE: …\n"


def test_a_field_is_printed_by_the_name_of_its_variable() -> None:
    def of(name: str) -> AddonField:
        path = ("f:spec", "f:containers", 'k:{"name":"aws-node"}', "f:env", f'k:{{"name":"{name}"}}', "f:value")
        return AddonField(ObjectName("apps/v1", "DaemonSet", "aws-node", "kube-system"), path)

    assert value_text("hunter2", of("DB_PASSWORD")) == '"…"'
    assert value_text("true", of("ENABLE_POD_ENI")) == '"true"'
    note = AddonField(of("A").of, ("f:metadata", "f:annotations", "f:example.com/token"))
    assert value_text("hunter2", note) == '"…"'


@pytest.mark.parametrize("word", ["x", "token", "eyJ-", "://a@", "-----BEGIN PRIVATE KEY-----", "authorization:"])
def test_a_long_text_takes_no_longer_for_each_of_its_letters(word: str) -> None:
    """Any text of a server, a process or a log is scanned; quadratic time would be hours."""
    redact_value(word * (200_000 // len(word)), "a")
