"""What AWS answered, written down and answered again: a question that was not asked then is unknown."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.aws.asking import Aws, Json
from kubectl_eksdoc.core.model.aws.access import AwsAccess
from kubectl_eksdoc.core.model.aws.questions import Question
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsMissing, AwsRefused, AwsThrottled, SnapshotError

KIND, VERSION = "AwsAnswers", 1
_TIME, _BYTES, _MARK = "$time", "$bytes", "$"


@dataclass(frozen=True, slots=True)
class RecordedOf:
    """Of which cluster answers are, by which address it was known, who asked, and when the first answer came."""

    cluster: str
    region: str
    account: str
    server: str
    caller: str
    observed_at: datetime
    server_name: str = ""
    ca: str = ""

    @property
    def access(self) -> AwsAccess:
        """By which what was recorded is believed again, as it was then."""
        return AwsAccess(
            self.cluster,
            self.region,
            account=self.account,
            server=self.server,
            server_name=self.server_name,
            ca=self.ca,
        )


class Recorder:
    """An `asking.Aws` that keeps what another one answers, refusals of one question included, and asks nothing twice
    that was answered. `kept`: what of an answer may be written down. Mutable."""

    def __init__(self, aws: Aws, kept: Callable[[Question, Json], Json] = lambda _, answer: answer) -> None:
        self._aws = aws
        self._of_answer = kept
        self._lock = threading.Lock()
        self._kept: dict[str, Json] = {}
        self._answers: dict[str, Json] = {}
        self._refused: dict[str, str] = {}

    @property
    def refused(self) -> Mapping[str, str]:
        """Why something is not known, by the IAM action that would tell."""
        return self._refused

    @property
    def said(self) -> str:
        """What was sent, where that is counted."""
        return str(getattr(self._aws, "said", ""))

    def __len__(self) -> int:
        """So many questions were asked."""
        return len(self._kept)

    def ask(self, question: Question, parameters: Mapping[str, Any]) -> Json:
        """As `asking.Aws.ask`."""
        key = _key(question, parameters)
        if key in self._answers:
            return deepcopy(self._answers[key])
        try:
            answer = self._aws.ask(question, parameters)
        except (AwsDenied, AwsMissing, AwsThrottled, AwsRefused) as error:
            self._keep(question, parameters, {"refused": _refusal(error)})
            if isinstance(error, (AwsDenied, AwsThrottled)):
                self._refused[question.action or question.operation] = error.message
            raise
        self._answers[key] = deepcopy(answer)
        self._keep(question, parameters, {"answer": self._of_answer(question, deepcopy(answer))})
        return answer

    def _keep(self, question: Question, parameters: Mapping[str, Any], what: Json) -> None:
        asked = {"service": question.service, "operation": question.operation, "parameters": dict(parameters)}
        key = _key(question, parameters)
        with self._lock:
            if "answer" not in self._kept.get(key, {}):  # the first answer stays, whatever is refused later
                self._kept[key] = {**asked, **what}

    def written(self, of: RecordedOf) -> bytes:
        """All of it as JSON, sorted: the same answers give the same bytes."""
        with self._lock:
            calls = [self._kept[key] for key in sorted(self._kept)]
        whole = {"kind": KIND, "version": VERSION, "of": asdict(of), "calls": calls}
        return json.dumps(_plain(whole), sort_keys=True).encode()


class Recorded:
    """An `asking.Aws` that answers from what a `Recorder` wrote."""

    def __init__(self, written: bytes, where: str = "the snapshot") -> None:
        """
        Raises:
            SnapshotError: it is something else, or newer than this.
        """
        self._where = where
        try:
            read = json.loads(written, object_hook=_meant)
            if read["kind"] != KIND:
                raise SnapshotError(f"{where} holds {str(read['kind'])[:80]!r}, and no answers of AWS")
            if read["version"] != VERSION:
                raise SnapshotError(
                    f"{where} holds answers of AWS as version {read['version']!r}, and this tool reads {VERSION}",
                    "Read it with the tool that wrote it, or a newer one.",
                )
            self.of = _of(read["of"])
            self._answers = {_key_of(call): call for call in read["calls"]}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SnapshotError(f"{where} holds no answers of AWS that can be read: {error!r}") from error

    def ask(self, question: Question, parameters: Mapping[str, Any]) -> Json:
        """As `asking.Aws.ask`."""
        call = self._answers.get(_key(question, parameters))
        if call is None:
            raise AwsDenied(f"{self._where} does not hold the answer of {question.service}:{question.operation}")
        if "refused" in call:
            raise _raised(call["refused"])
        answer: Json = deepcopy(call["answer"])
        return answer


def _key(question: Question, parameters: Mapping[str, Any]) -> str:
    told = json.dumps(_plain(parameters), sort_keys=True)
    return f"{question.service} {question.operation} {told}"


def _key_of(call: Json) -> str:
    if not isinstance(call["parameters"], dict) or not isinstance(call.get("answer", {}), dict):
        raise ValueError("a call is none")
    if not isinstance(call.get("refused", {}), dict):
        raise ValueError("a refusal is none")
    if not {"answer", "refused"} & call.keys():
        raise ValueError("a call has no answer")
    return _key(Question(str(call["service"]), str(call["operation"])), call["parameters"])


def _refusal(error: AwsError) -> Json:
    kind = next(name for name, each in _REFUSALS.items() if isinstance(error, each))
    more = error.missing if isinstance(error, AwsDenied) else error.code if isinstance(error, AwsMissing) else ""
    return {"kind": kind, "message": error.message, "hint": error.hint, "more": more}


_REFUSALS: dict[str, type[AwsError]] = {
    "denied": AwsDenied,
    "missing": AwsMissing,
    "refused": AwsRefused,
    "throttled": AwsThrottled,
}


def _raised(refusal: Json) -> AwsError:
    message, hint, more = (str(refusal.get(name, "")) for name in ("message", "hint", "more"))
    if refusal.get("kind") == "missing":
        return AwsMissing(message, hint, more)
    if refusal.get("kind") in ("throttled", "refused"):
        return _REFUSALS[refusal["kind"]](message, hint)
    return AwsDenied(message, hint, more)


def _of(read: Any) -> RecordedOf:
    of = RecordedOf(**read)
    if not isinstance(of.observed_at, datetime):
        raise ValueError("nothing says when it was")
    for name, value in asdict(of).items():
        if name != "observed_at" and not isinstance(value, str):
            raise ValueError(f"{name} is no text")
    return of


def _plain(value: Any) -> Any:
    """What JSON has no word for, as an object with one marked key; whatever looks like that gets another mark."""
    if isinstance(value, datetime):
        return {_TIME: value.astimezone(timezone.utc).isoformat()}
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode("ascii")}
    if isinstance(value, Mapping):
        return {_MARK + key if key.startswith(_MARK) else key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def _meant(read: Json) -> Any:
    if read.keys() == {_TIME}:
        return datetime.fromisoformat(read[_TIME])
    if read.keys() == {_BYTES}:
        return base64.b64decode(read[_BYTES], validate=True)
    return {key.removeprefix(_MARK): each for key, each in read.items()}
