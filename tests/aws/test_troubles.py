"""Every error that botocore raises gets a message of this tool, with the IAM action if one is missing."""

from __future__ import annotations

import pytest
from botocore import exceptions as raised

from kubectl_eksdoc.aws.refusals import error_of_exception
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsLogin, AwsMissing, AwsRefused, AwsThrottled
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.eks import AwsAccess

ACCESS = AwsAccess("prod", "eu-west-1", profile="ops")


def refused(code: str, message: str = "so it is") -> raised.ClientError:
    return raised.ClientError({"Error": {"Code": code, "Message": message}}, questions.ADDON.operation)


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        ("AccessDeniedException", AwsDenied, "eks:DescribeAddon"),
        ("UnauthorizedOperation", AwsDenied, "eks:DescribeAddon"),
        ("ExpiredToken", AwsLogin, "have expired"),
        ("UnrecognizedClientException", AwsLogin, "does not accept the credentials"),
        ("InvalidClientTokenId", AwsLogin, "does not accept the credentials"),
        ("SignatureDoesNotMatch", AwsLogin, "does not accept the signature"),
        ("RequestExpired", AwsLogin, "have expired"),
        ("ThrottlingException", AwsThrottled, "too often"),
        ("ResourceNotFoundException", AwsMissing, "so it is"),
        ("InvalidInstanceID.NotFound", AwsMissing, "so it is"),
        ("AWS.SimpleQueueService.NonExistentQueue", AwsMissing, "so it is"),
        ("ServerException", AwsRefused, "ServerException: so it is"),
        ("KMS.NotFoundException", AwsRefused, "KMS.NotFoundException"),
        ("RegionDisabledException", AwsLogin, "does not accept the credentials"),
    ],
)
def test_what_aws_refuses(code: str, kind: type[AwsError], said: str) -> None:
    error = error_of_exception(refused(code), questions.ADDON, ACCESS)
    assert type(error) is kind and said in error.message and error.exit_code == 4


SIGNED = """\
The request signature we calculated does not match the signature you provided. The Canonical String for this request \
should have been 'POST / host:sts.eu-west-1.amazonaws.com x-amz-security-token:FwoGZXIvYXdzEXAMPLE host;x-amz-date'"""

LINK = "see https://logs.s3.amazonaws.com/a?X-Amz-Credential=EXAMPLE%2F1&X-Amz-Signature=EXAMPLE and token=EXAMPLE"


@pytest.mark.parametrize(
    "error",
    [
        refused("SignatureDoesNotMatch", SIGNED),
        refused("InvalidClientTokenId", "Credential=ASIAEXAMPLEEXAMPLE, Signature=FwoGZXIvYXdzEXAMPLE"),
        *(refused(code, LINK) for code in ("AccessDenied", "ResourceNotFoundException", "ServerException")),
        raised.ClientError({"Error": {"Code": "AccessDenied", "Message": SIGNED}}, "AssumeRole"),
        raised.ProxyConnectionError(proxy_url="http://FwoGZXIvYXdzEXAMPLE@proxy:3128"),
        raised.EndpointConnectionError(
            endpoint_url="http://u:FwoGZXIvYXdzEXAMPLE@h/?X-Amz-Signature=FwoGZXIvYXdzEXAMPLE"
        ),
    ],
)
def test_no_secret_that_aws_or_botocore_repeats(error: Exception) -> None:
    ours = error_of_exception(error, questions.ADDON, ACCESS)
    assert "EXAMPLE" not in f"{ours.message} {ours.hint}"


def test_who_asked_is_named_with_the_role_that_was_assumed() -> None:
    access = AwsAccess("prod", "eu-west-1", profile="ops", role="arn:aws:iam::111122223333:role/reader")
    error = error_of_exception(refused("AccessDenied", "no identity-based policy allows it"), questions.ADDON, access)
    assert isinstance(error, AwsDenied) and error.missing == "eks:DescribeAddon"
    assert "role/reader (assumed from profile 'ops')" in error.message and "no identity-based policy" in error.hint


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (raised.NoCredentialsError(), "no AWS credentials for profile 'ops'"),
        (raised.ProfileNotFound(profile="ops"), "no AWS profile 'ops'"),
        (raised.UnauthorizedSSOTokenError(), "login of profile 'ops'"),
        (raised.TokenRetrievalError(provider="sso", error_msg="Token has expired"), "login of"),
        (raised.MissingDependencyException(msg="needs botocore[crt]"), "cannot be had"),
        (raised.CredentialRetrievalError(provider="custom-process", error_msg="exit 1"), "cannot be had"),
    ],
)
def test_credentials_that_are_none(error: Exception, said: str) -> None:
    found = error_of_exception(error, questions.CALLER, ACCESS)
    assert isinstance(found, AwsLogin) and said in found.message and found.hint


@pytest.mark.parametrize(
    "error",
    [
        raised.EndpointConnectionError(endpoint_url="https://eks.eu-west-1.amazonaws.com"),
        raised.ReadTimeoutError(endpoint_url="https://eks.eu-west-1.amazonaws.com"),
        raised.SSLError(endpoint_url="https://eks.eu-west-1.amazonaws.com", error="certificate"),
        raised.ProxyConnectionError(proxy_url="http://proxy:3128"),
    ],
)
def test_no_network(error: Exception) -> None:
    found = error_of_exception(error, questions.CLUSTER, ACCESS)
    assert type(found) is AwsError and "cannot ask eks in eu-west-1" in found.message and "HTTPS_PROXY" in found.hint


_OTHERWISE = {"monitoring": "cloudwatch"}
"""As requests are signed, and as IAM calls it where that is not the same (service authorization reference)."""


_SOME_PAGES = {"LookupEvents"}
"""Of an instance there may be thousands of events: `node_roles` reads a few pages, two a second."""


@pytest.mark.parametrize("question", questions.ALL, ids=lambda each: each.operation)
def test_every_question_exists_and_is_paged_as_it_says(question: AwsOperation) -> None:
    import boto3
    from botocore import xform_name

    client = boto3.client(question.service, "eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
    method = xform_name(question.operation)
    model = client.meta.service_model.operation_model(question.operation)
    assert client.can_paginate(method) is bool(question.paged_list or question.operation in _SOME_PAGES)
    if question.paged_list:
        assert question.paged_list in model.output_shape.members
    signed = model.service_model.signing_name
    prefix = f"{_OTHERWISE.get(signed, signed)}:"
    assert question.needs_no_permission or all(action.startswith(prefix) for action in question.actions)
