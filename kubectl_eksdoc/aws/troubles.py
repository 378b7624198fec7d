"""What botocore raises, in our words: what was attempted, on what, what to try.

Codes: each service's own list of common errors; botocore's retry tables (throttling).
"""

from __future__ import annotations

from botocore import exceptions as raised

from kubectl_eksdoc.core.model.aws.access import AwsAccess
from kubectl_eksdoc.core.model.aws.questions import Question
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsLogin, AwsMissing, AwsThrottled

_DENIED = frozenset(
    ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError", "UnauthorizedException")
)
_EXPIRED = frozenset(("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"))
_NOT_ACCEPTED = frozenset(
    (
        "AuthFailure",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "OptInRequired",
        "UnrecognizedClientException",
    )
)
_CLOCK = frozenset(("InvalidSignatureException", "RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch"))
_THROTTLED = frozenset(
    (
        "LimitExceededException",
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
_SSO = (raised.SSOError, raised.TokenRetrievalError)
"""Also that a token is not there, or is not accepted."""


def told(error: Exception, question: Question, access: AwsAccess) -> AwsError:
    """Of anything that botocore raises while a question is asked."""
    if isinstance(error, raised.ClientError):
        return _refused(error, question, access)
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


def _refused(error: raised.ClientError, question: Question, access: AwsAccess) -> AwsError:
    code = str(error.response.get("Error", {}).get("Code", ""))
    message = str(error.response.get("Error", {}).get("Message", "")) or code
    who = _who(access)
    if code in _DENIED:
        action = question.action or f"{question.service}:{question.operation}"
        return AwsDenied(
            f"IAM does not allow {who} {action}",
            f"AWS says: {message}",
            action,
        )
    if code in _EXPIRED:
        return AwsLogin(f"the credentials of {who} have expired", _log_in(access))
    if code in _NOT_ACCEPTED:
        return AwsLogin(
            f"AWS does not accept the credentials of {who} in {access.region}: {message}",
            f"{_log_in(access)} A region that is not enabled in the account refuses all credentials, too.",
        )
    if code in _CLOCK:
        return AwsLogin(
            f"AWS does not accept the signature of {who}: {message}",
            "Is the clock of this machine right? Else the secret key is not the one of the access key.",
        )
    if code in _THROTTLED:
        return AwsThrottled(
            f"AWS was asked too often for {question.service}:{question.operation}, and waiting did not help",
            "Try again in a minute; somebody else may be asking for the same in this account.",
        )
    if code in _MISSING or code.endswith(("NotFound", ".NotFound", "NotFoundException")):
        return AwsMissing(message, f"Asked was {question.service} in {access.region}, as {who}.", code)
    return AwsError(f"AWS refuses {question.service}:{question.operation}: {code}: {message}")


def _login(error: Exception, access: AwsAccess) -> AwsLogin | None:
    if isinstance(error, raised.ProfileNotFound):
        return AwsLogin(
            f"there is no AWS profile {access.profile!r} on this machine",
            "aws configure list-profiles shows those that are there; give one with --profile.",
        )
    if isinstance(error, _SSO):
        return AwsLogin(f"the single sign-on of {_who(access)} cannot be used: {_brief(error)}", _log_in(access))
    if isinstance(error, (raised.NoCredentialsError, raised.PartialCredentialsError)):
        return AwsLogin(f"there are no AWS credentials for {_who(access)}", _log_in(access))
    if isinstance(error, (raised.CredentialRetrievalError, raised.RefreshWithMFAUnsupportedError)):
        return AwsLogin(f"the credentials of {_who(access)} cannot be had: {_brief(error)}", _log_in(access))
    return None


def _who(access: AwsAccess) -> str:
    profile = f"profile {access.profile!r}" if access.profile else "the default profile"
    return f"{access.role} (assumed from {profile})" if access.role else profile


def _log_in(access: AwsAccess) -> str:
    profile = f" --profile {access.profile}" if access.profile else ""
    return f"Log in anew: aws sso login{profile}, or whatever gives you credentials; --profile names another profile."


def _brief(error: Exception) -> str:
    """On one line."""
    return " ".join(str(error).split())
