"""What AWS refuses, by its codes, in our words: what was attempted, on what, what to try.

Codes: each service's own list of common errors; botocore's retry tables (throttling).
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.aws.access import AwsAccess
from kubectl_eksdoc.core.model.aws.questions import Question
from kubectl_eksdoc.core.rules.keeping.secrets import hidden
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsLogin, AwsMissing, AwsRefused, AwsThrottled
from kubectl_eksdoc.held_secrets import without_held

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


def refused(code: str, message: str, question: Question, access: AwsAccess) -> AwsError:
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
            "Try again in a minute; somebody else may be asking for the same in this account.",
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
    return f"Log in anew: aws sso login{profile}, or whatever gives you credentials; --profile names another profile."
