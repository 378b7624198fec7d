"""What programs print that get nothing from the metadata service."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.core.plan.metadata.symptoms import LONGEST, SYMPTOMS, last_symptom

LBC = (
    '{"level":"error","ts":"2026-11-20T08:00:00Z","logger":"setup","msg":"unable to initialize AWS cloud","error":'
    '"failed to introspect region from EC2Metadata, specify --aws-region instead if EC2Metadata is unavailable: '
    'EC2MetadataRequestError: failed to get EC2 instance identity document"}'
)
GO = (
    "operation error STS: GetCallerIdentity, get identity: get credentials: failed to refresh cached credentials, "
    "no EC2 IMDS role found, operation error ec2imds: GetMetadata, canceled, context deadline exceeded"
)


@pytest.mark.parametrize(
    ("log", "lacks"),
    [
        (LBC, "its region"),
        (GO, "credentials"),
        ("botocore.exceptions.NoCredentialsError: Unable to locate credentials\n", "credentials"),
        ('Get "http://169.254.169.254/latest/api/token": context deadline exceeded', "an answer"),
        ("CredentialsProviderError: Could not load credentials from any providers", "credentials"),
    ],
)
def test_known_errors(log: str, lacks: str) -> None:
    seen = last_symptom(f"starting\n{log}\nbye\n")
    assert seen is not None and seen.symptom.lacks == lacks


@pytest.mark.parametrize(
    "log", ["", "starting\n", "panic: nil map", "GET http://169.254.169.254/latest/meta-data 200 OK", "AccessDenied"]
)
def test_other_troubles_are_none(log: str) -> None:
    assert last_symptom(log) is None


def test_a_line_has_no_credentials() -> None:
    said = '169.254.169.254 said {"AccessKeyId": "ASIAEXAMPLEEXAMPLE", "SecretAccessKey": "hunter2hunter2"}'
    seen = last_symptom(said)
    assert seen is not None and "EXAMPLE" not in seen.line and "hunter2" not in seen.line
    assert "169.254.169.254 said" in seen.line


def test_the_last_line_counts() -> None:
    seen = last_symptom("NoCredentialProviders: no valid providers in chain\nfailed to get VPC ID\nexit 1")
    assert seen is not None and seen.line == "failed to get VPC ID"


@given(some.text(), some.sampled_from(SYMPTOMS), some.text())
def test_any_log_can_be_looked_at(before: str, symptom: object, after: str) -> None:
    seen = last_symptom(f"{before}\n{symptom.text}\n{after}")
    assert seen is not None and len(seen.line) <= LONGEST


def test_the_commonest_line_of_the_first_go_sdk() -> None:
    line = "vpcId is not specified: EC2MetadataError: failed to make EC2Metadata request, status code: 401"
    assert last_symptom(line) is not None
