"""What botocore raises, in our words: no credentials, no network, and what AWS refuses (`refusals`)."""

from __future__ import annotations

from botocore import exceptions as raised

from kubectl_eksdoc.aws.refusals import log_in, named, refused, shown
from kubectl_eksdoc.core.model.aws.access import AwsAccess
from kubectl_eksdoc.core.model.aws.questions import Question
from kubectl_eksdoc.errors import AwsError, AwsLogin

_SSO = tuple(
    getattr(raised, name) for name in ("LoginError", "SSOError", "TokenRetrievalError") if hasattr(raised, name)
)
"""Also that a token is not there, or is not accepted; older ones of botocore know no `aws login`."""


def told(error: Exception, question: Question, access: AwsAccess) -> AwsError:
    """Of anything that botocore raises while a question is asked."""
    if isinstance(error, raised.ClientError):
        if error.operation_name != question.operation:
            return _no_credentials(error, access)
        said = error.response.get("Error", {})
        code = str(said.get("Code", ""))
        return refused(code, str(said.get("Message", "")) or code, question, access)
    login = _login(error, access)
    if login is not None:
        return login
    where = f"{question.service} in {access.region}"
    if isinstance(error, (raised.HTTPClientError, raised.ConnectionError)):
        return AwsError(
            f"cannot ask {where}: {_brief(error)}",
            f"Is {access.region} the region, and does this machine reach it (HTTPS_PROXY, VPN)?",
        )
    return AwsError(f"cannot ask {where} for {question.operation}: {_brief(error)}")


def _no_credentials(error: raised.ClientError, access: AwsAccess) -> AwsLogin:
    """What was refused is not the question, but a call by which botocore gets credentials for it."""
    said = error.response.get("Error", {})
    return AwsLogin(
        f"the credentials of {named(access)} cannot be had: {error.operation_name} is refused: "
        f"{said.get('Code', '')}: {shown(str(said.get('Message', '')))}",
        f"May you assume the role (sts:AssumeRole, and its trust policy)? {log_in(access)}",
    )


def not_had(error: Exception, access: AwsAccess) -> AwsLogin:
    """Of a program or a file that should give credentials, or of nobody who could be asked for a code."""
    return AwsLogin(
        f"the credentials of {named(access)} cannot be had: {_brief(error) or type(error).__name__}", log_in(access)
    )


def _login(error: Exception, access: AwsAccess) -> AwsLogin | None:
    if isinstance(error, raised.ProfileNotFound):
        return AwsLogin(
            f"there is no AWS profile {access.profile!r} on this machine",
            "aws configure list-profiles shows those that are there; give one with --profile.",
        )
    if isinstance(error, _SSO):
        return AwsLogin(f"the login of {named(access)} cannot be used: {_brief(error)}", log_in(access))
    if isinstance(error, (raised.NoCredentialsError, raised.PartialCredentialsError)):
        return AwsLogin(f"there are no AWS credentials for {named(access)}", log_in(access))
    if isinstance(
        error,
        (raised.CredentialRetrievalError, raised.MissingDependencyException, raised.RefreshWithMFAUnsupportedError),
    ):
        return AwsLogin(f"the credentials of {named(access)} cannot be had: {_brief(error)}", log_in(access))
    return None


def _brief(error: Exception) -> str:
    """On one line, without secrets: of a proxy its URL is in it."""
    return shown(" ".join(str(error).split()))
