"""How AWS is asked, whoever answers, and many questions at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Protocol, TypeVar

from kubectl_eksdoc.errors import AwsDenied, AwsMissing, AwsRefused, AwsThrottled
from kubectl_eksdoc.model.asked import Absent, Unknown, known_or_unknown
from kubectl_eksdoc.model.aws.questions import AwsOperation

Json = dict[str, Any]
T = TypeVar("T")
K = TypeVar("K")

AT_ONCE = 8
"""So many requests are under way: fewer than EKS throttles at (10 a second for most of what it describes)."""


class AwsClient(Protocol):
    """Answers as botocore shapes them, of all pages, without ``ResponseMetadata``; times have a time zone."""

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        """
        Raises:
            AwsDenied: IAM does not allow it.
            AwsMissing: there is no such thing.
            AwsThrottled: AWS was asked too often, and waiting did not help.
            AwsRefused: AWS does not answer this question, for a reason of its own.
            AwsError: nothing can be asked: no credentials, no network, or AWS refuses.
        """
        ...


def answered(aws: AwsClient, question: AwsOperation, parameters: Mapping[str, Any], made: Callable[[Json], T]) -> T:
    """What is `made` of the answer.

    Raises:
        AwsRefused: also where the answer is not what it should be, as in a snapshot that somebody has edited.
        AwsDenied, AwsMissing, AwsThrottled, AwsError: as `AwsClient.ask`.
    """
    answer = aws.ask(question, parameters)
    try:
        return made(answer)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"{question.service}:{question.operation}"
        raise AwsRefused(f"the answer to {what} is not what it should be: {error!r}") from error


def known(
    aws: AwsClient, question: AwsOperation, parameters: Mapping[str, Any], made: Callable[[Json], T]
) -> T | Unknown:
    """What is `made` of the answer. What may not be asked, or not now, or is not answered, is unknown.

    Raises:
        AwsMissing, AwsError: as `AwsClient.ask`.
    """
    try:
        return answered(aws, question, parameters, made)
    except AwsDenied as error:
        return Unknown(error.message, error.missing)
    except (AwsThrottled, AwsRefused) as error:
        return Unknown(error.message)


def found(
    aws: AwsClient, question: AwsOperation, parameters: Mapping[str, Any], made: Callable[[Json], T]
) -> T | Unknown | Absent:
    """As `known`; that there is no such thing is an answer, too."""
    try:
        return known(aws, question, parameters, made)
    except AwsMissing as error:
        return Absent(error.message)


def there(
    aws: AwsClient, question: AwsOperation, parameters: Mapping[str, Any], made: Callable[[Json], T]
) -> T | Unknown:
    """As `known`, of what is nothing by itself: where there is no such thing, that is why it is unknown."""
    return known_or_unknown(found(aws, question, parameters, made))


def _checked(said: Mapping[str, Any], name: str, right: Callable[[Any], bool], what: str) -> Any:
    value = said.get(name)
    if value is not None and not right(value):
        raise TypeError(f"{name} is {what}, and there is {value!r}")
    return value


def text(said: Mapping[str, Any], name: str) -> str:
    """ "" where it is not said.

    Raises:
        TypeError: it is none, as in a snapshot that somebody has edited.
    """
    return _checked(said, name, lambda value: isinstance(value, str), "a text") or ""


def texts(said: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """As `text`, of a list of them."""
    return tuple(_checked(said, name, lambda value: _all_are(str, value), "a list of texts") or ())


def moment(said: Mapping[str, Any], name: str) -> datetime | None:
    """As `text`; None where it is not said. Times of AWS have a time zone."""
    found: datetime | None = _checked(
        said, name, lambda value: isinstance(value, datetime) and value.tzinfo is not None, "a time"
    )
    return found


def parts(said: Mapping[str, Any], name: str) -> tuple[Json, ...]:
    """As `texts`, of a list of structures."""
    return tuple(_checked(said, name, lambda value: _all_are(dict, value), "a list of structures") or ())


def _all_are(kind: type, value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def name_of(said: Mapping[str, Any], name: str) -> str:
    """As `text`, of what is nothing without it.

    Raises:
        KeyError: it is not said.
    """
    found = text(said, name)
    if not found:
        raise KeyError(name)
    return found


def number(said: Mapping[str, Any], name: str) -> int | None:
    """As `text`; None where it is not said."""
    found: int | None = _checked(said, name, lambda value: type(value) is int, "a whole number")
    return found


def at_once(keys: Iterable[K], ask: Callable[[K], T]) -> list[tuple[K, T]]:
    """What `ask` gives for each key, in their order; at most `AT_ONCE` at a time.

    Raises:
        whatever `ask` raises: the first by the order of the keys.
    """
    wanted = list(keys)
    if len(wanted) < 2:
        return [(key, ask(key)) for key in wanted]
    with ThreadPoolExecutor(min(AT_ONCE, len(wanted)), thread_name_prefix="aws") as pool:
        return list(zip(wanted, pool.map(ask, wanted), strict=True))
