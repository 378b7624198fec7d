"""What AWS refuses, by its codes, in our words: what was attempted, on what, what to try.

Codes: each service's own list of common errors; botocore's retry tables (throttling).
"""

from __future__ import annotations

from botocore import exceptions as raised

from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsLogin, AwsMissing, AwsRefused, AwsThrottled
from kubectl_eksdoc.held_secrets import without_held
from kubectl_eksdoc.kubernetes.keeping import hidden
from kubectl_eksdoc.model.aws.access import AwsAccess
from kubectl_eksdoc.model.aws.questions import AwsOperation

_DENIED = frozenset(
    (
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "KmsAccessDenied",
        "NotAuthorized",
        "UnauthorizedException",
        "UnauthorizedOperation",
    )
)
_EXPIRED = frozenset(("ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"))
"""The third is EC2's, of a clock that is wrong as well."""
_NOT_ACCEPTED = frozenset(
    (
        "AuthFailure",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "OptInRequired",
        "RegionDisabledException",
        "UnrecognizedClientException",
    )
)
_CLOCK = frozenset(("InvalidSignatureException", "RequestTimeTooSkewed", "SignatureDoesNotMatch"))
_THROTTLED = frozenset(
    (
        "EC2ThrottledException",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottledException",
        "ThrottlingException",
        "TooManyRequestsException",
    )
)
_MISSING = frozenset(
    (
        "AWS.SimpleQueueService.NonExistentQueue",
        "NoSuchEntity",
        "ParameterNotFound",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
    )
)


def refused(code: str, message: str, question: AwsOperation, access: AwsAccess) -> AwsError:
    """`message` as AWS gives it with the code: that of a wrong signature has the session token in it."""
    who, message = named(access), shown(message)
    if code in _DENIED:
        action = question.action or f"{question.service}:{question.operation}"
        return AwsDenied(
            f"IAM does not allow {who} {action}",
            f"AWS says: {message}",
            action,
        )
    if code in _EXPIRED:
        return AwsLogin(
            f"the credentials of {who} have expired", f"{log_in(access)} Is the clock of this machine right?"
        )
    if code in _NOT_ACCEPTED:
        return AwsLogin(
            f"AWS does not accept the credentials of {who} in {access.region}: {message}",
            f"{log_in(access)} A region that is not enabled in the account refuses all credentials, too.",
        )
    if code in _CLOCK:
        return AwsLogin(
            f"AWS does not accept the signature of {who}: {message}",
            "Is the clock of this machine right? Else the secret key is not the one of the access key.",
        )
    if code in _THROTTLED:
        return AwsThrottled(
            f"AWS was asked too often for {question.service}:{question.operation}, and waiting did not help",
            "Try again in a minute; another client may be sending the same requests in this account.",
        )
    if code in _MISSING or (code.endswith(("NotFound", "NotFoundException")) and not code.upper().startswith("KMS")):
        return AwsMissing(message, f"Asked was {question.service} in {access.region}, as {who}.", code)
    what = f"{question.service}:{question.operation}"
    return AwsRefused(f"AWS does not answer {what}: {code}: {message}", code=code)


def shown(message: str) -> str:
    """What AWS, botocore or a program says, as it is shown and kept."""
    return hidden(without_held(message))


def named(access: AwsAccess) -> str:
    """Whose credentials are used."""
    profile = f"profile {access.profile!r}" if access.profile else "the default profile"
    return f"{access.role} (assumed from {profile})" if access.role else profile


def log_in(access: AwsAccess) -> str:
    """What to try where they are not accepted."""
    profile = f" --profile {access.profile}" if access.profile else ""
    return f"Log in again: aws sso login{profile}, or whatever gives you credentials; --profile names another profile."


# What botocore raises, in our words: no credentials, no network, and what AWS refuses (`refusals`).


_SSO = tuple(
    getattr(raised, name) for name in ("LoginError", "SSOError", "TokenRetrievalError") if hasattr(raised, name)
)
"""Also that a token is not there, or is not accepted; older ones of botocore know no `aws login`."""


def told(error: Exception, question: AwsOperation, access: AwsAccess) -> AwsError:
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
