"""Every error a user can meet, and the exit code each one means.

::

    EksdocError                     70  a bug of ours if no subclass fits
    ├── UsageError                   2  the command line, a selector, a target that does not exist
    │   ├── SnapshotError            2  a dump that cannot be read, or is not what it should be
    │   ├── BaselineError            2  a saved plan that cannot be read, or that cannot be compared with
    │   ├── TerraformError           2  a Terraform plan that cannot be read, or is not JSON
    │   └── ValuesError              2  configuration values of an add-on that are neither a JSON nor a YAML object
    ├── ClusterError                 3  the cluster refused the request or cannot be reached
    │   ├── ConfigError              3  the kubeconfig cannot be used
    │   ├── Unreachable              3  no answer, or no complete one
    │   │   └── Untrusted            3  a server whose certificate is not trusted: no request was sent
    │   ├── Unauthorized             3  the credentials are not accepted
    │   ├── Forbidden                3  a permission is missing; `missing` names it
    │   ├── ClusterRefused           3  the API server does not accept a change: nothing was changed
    │   └── Locked                   3  another process drains this cluster; `holder` names it
    ├── AwsError                     4  AWS refused the request or cannot be reached
    │   ├── AwsDenied                4  IAM does not allow it; `missing` names the action
    │   ├── AwsMissing               4  the resource does not exist
    │   │   └── AwsNoSuchName        2  the name on the command line does not exist; AWS lists the others
    │   ├── AwsThrottled             4  AWS throttled the requests, and waiting did not help
    │   ├── AwsRefused               4  AWS does not answer this request, for a reason of its own
    │   ├── AwsLogin                 4  no credentials, or credentials that are not accepted (any more)
    │   └── AwsOtherCluster          4  AWS describes another cluster than the one that kubectl talks to
    ├── Stopped                      6  a run does nothing more: resume it, or roll it back
    │   ├── JournalError             6  the journal cannot be written, or cannot be read
    │   │   ├── JournalGone          6  the run's journal was removed from the cluster: the run cannot be resumed
    │   │   └── LocalJournalError    6  this machine's copy cannot be read or written; another machine's may
    │   └── LockLost                 6  another process leads; `holder` names it where that is known
    │       └── LockInDoubt          6  or may lead by now, as the Lease was not renewed in time: it may be regained
    └── Drifted                      7  the cluster is not as the plan expects

An error says what was attempted, on what, and what to try next. Errors of libraries are
chained with ``raise ... from``, never shown by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable


def os_error_text(error: Exception) -> str:
    """The error text of the operating system, or the error itself."""
    return str(getattr(error, "strerror", "") or error)


class EksdocError(Exception):
    """The attempted action and its object (`message`), and what to try (`hint`). `partial_answer`: for stdout, results
    from before the error."""

    exit_code = 70
    partial_answer = ""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(EksdocError):
    exit_code = 2


class SnapshotError(UsageError):
    pass


class BaselineError(UsageError):
    pass


class TerraformError(UsageError):
    pass


class ValuesError(UsageError):
    pass


class ClusterError(EksdocError):
    exit_code = 3


class ConfigError(ClusterError):
    pass


class Unreachable(ClusterError):
    pass


class Untrusted(Unreachable):
    pass


class Unauthorized(ClusterError):
    pass


class Forbidden(ClusterError):
    """`missing` is the right as RBAC writes it, e.g. ``list pods``."""

    def __init__(self, message: str, hint: str = "", missing: str = "") -> None:
        super().__init__(message, hint)
        self.missing = missing


class ClusterRefused(ClusterError):
    pass


class Locked(ClusterError):
    def __init__(self, message: str, hint: str = "", holder: str = "") -> None:
        super().__init__(message, hint)
        self.holder = holder


class AwsError(EksdocError):
    exit_code = 4


class AwsDenied(AwsError):
    """`missing` is the action as IAM policies write it, e.g. ``eks:DescribeAddon``."""

    def __init__(self, message: str, hint: str = "", missing: str = "") -> None:
        super().__init__(message, hint)
        self.missing = missing


class AwsMissing(AwsError):
    """`code` as AWS names it, e.g. ``ResourceNotFoundException``."""

    def __init__(self, message: str, hint: str = "", code: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class AwsNoSuchName(AwsMissing):
    exit_code = 2


class AwsThrottled(AwsError):
    pass


class AwsRefused(AwsError):
    """`code` as AWS names it, e.g. ``ResourceInUseException``."""

    def __init__(self, message: str, hint: str = "", code: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class AwsLogin(AwsError):
    pass


class AwsOtherCluster(AwsError):
    pass


class Stopped(EksdocError):
    exit_code = 6


class JournalError(Stopped):
    pass


class JournalGone(JournalError):
    pass


class LocalJournalError(JournalError):
    pass


class LockLost(Stopped):
    def __init__(self, message: str, hint: str = "", holder: str = "") -> None:
        super().__init__(message, hint)
        self.holder = holder


class LockInDoubt(LockLost):
    """`renewal_error`: the outcome of the last try to renew the Lease, a clause; "" if this machine itself was
    suspended."""

    def __init__(self, message: str, hint: str = "", renewal_error: str = "") -> None:
        super().__init__(message, hint)
        self.renewal_error = renewal_error


class Drifted(EksdocError):
    exit_code = 7


def bug_text(error: Exception) -> str:
    """A clause for an unexpected error."""
    return f"this is a bug in kubectl eksdoc, please report it: {error!r}"


# Did you mean …: known names that are close to an unknown one.


def close_matches(word: str, known: Iterable[str]) -> list[str]:
    """Up to three of `known` that are similar to `word`, the closest first."""
    import difflib

    names = sorted(known)
    with_prefix = [name for name in names if len(word) > 2 and name.startswith(word)]
    similar = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    return list(dict.fromkeys([*similar, *with_prefix]))[:3]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` (did you mean a or b?)`` for the end of a clause, or "" when no name is close."""
    found = close_matches(word, known)
    return f" (did you mean {' or '.join(found)}?)" if found else ""
