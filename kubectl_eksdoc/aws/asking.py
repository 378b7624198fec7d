"""How AWS is asked, whoever answers, and many questions at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Protocol, TypeVar

from kubectl_eksdoc.errors import AwsDenied, AwsMissing, AwsRefused, AwsThrottled
from kubectl_eksdoc.model.asked import Absent, Unknown
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
    told = found(aws, question, parameters, made)
    return Unknown(told.said) if isinstance(told, Absent) else told


def text(said: Mapping[str, Any], name: str) -> str:
    """ "" where it is not said.

    Raises:
        TypeError: it is none, as in a snapshot that somebody has edited.
    """
    value = said.get(name)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is a text, and there is {value!r}")
    return value or ""


def texts(said: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """As `text`, of a list of them."""
    values = said.get(name)
    if values is not None and not (isinstance(values, list) and all(isinstance(each, str) for each in values)):
        raise TypeError(f"{name} is a list of texts, and there is {values!r}")
    return tuple(values or ())


def tags(said: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Sorted, by their keys, as EKS tells them."""
    return tuple(sorted((str(key), str(value)) for key, value in (said.get("tags") or {}).items()))


def moment(said: Mapping[str, Any], name: str) -> datetime | None:
    """As `text`; None where it is not said. Times of AWS have a time zone."""
    value = said.get(name)
    if value is not None and not (isinstance(value, datetime) and value.tzinfo is not None):
        raise TypeError(f"{name} is a time, and there is {value!r}")
    return value


def parts(said: Mapping[str, Any], name: str) -> tuple[Json, ...]:
    """As `texts`, of a list of structures."""
    values = said.get(name)
    if values is not None and not (isinstance(values, list) and all(isinstance(each, dict) for each in values)):
        raise TypeError(f"{name} is a list of structures, and there is {values!r}")
    return tuple(values or ())


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
    value = said.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise TypeError(f"{name} is a whole number, and there is {value!r}")
    return value


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
