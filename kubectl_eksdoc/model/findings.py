"""Findings, the one type for all results of checks: the subject, the severity, the status, and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from enum import Enum
from functools import cache
from string import Formatter
from typing import Any

from kubectl_eksdoc.frozen import frozen

from . import kinds
from .connection import CommandTarget
from .kinds import Resource, Unknown
from .knowledge import knowledge_file

CodeName = str
"""Name of a record; a test checks the names that appear in the package."""

TextName = str
"""Name of a text, as `Finding.of` takes it; also the type of parameters of functions that pass such a name on."""

ClauseName = str
"""Name of a clause, as `clause` takes it; also the type of parameters of functions that pass such a name on."""

# Finding codes: one record each in `knowledge/findings.json`; documentation and schemas are generated from them.


@frozen
class Code:
    """A question that a check answers; the status of the finding is the answer.

    `name` is the value of ``--accept-unknown``; `about` is one or two sentences for the documentation; without the
    lists of `needs` the answer is unknown. `area`, `gate` and `asks` belong to the upgrade check that finds it. `brief`
    and `update` belong to a verdict on a pod: the verdict in two or three words, and what the update of a node group
    does about the pod.
    """

    name: str
    title: str
    about: str
    needs: tuple[Resource, ...] = ()
    area: str = ""
    gate: str = ""
    asks: tuple[str, ...] = ()
    brief: str = ""
    update: str = ""

    @staticmethod
    def of(name: CodeName | TextName | ClauseName) -> Code:
        """The code of a text or clause. Raises KeyError if there is no record of it; a test finds such a name first."""
        return Code.by_name()[name.partition("/")[0]]

    @staticmethod
    def of_names(*names: str) -> tuple[Code, ...]:
        """Like `of`, for several names."""
        return tuple(map(Code.of, names))

    @staticmethod
    def of_areas(*areas: str) -> tuple[Code, ...]:
        """The codes that one command, or one part of it, may find, in the order of their records."""
        return tuple(code for area in areas for code in _by_area()[area])

    @staticmethod
    def all_codes() -> tuple[Code, ...]:
        return tuple(Code.by_name().values())

    @staticmethod
    @cache
    def by_name() -> Mapping[CodeName, Code]:
        return {code.name: code for codes in _by_area().values() for code in codes}


@cache
def _by_area() -> Mapping[str, tuple[Code, ...]]:
    resources = {each.full_name: each for each in vars(kinds).values() if isinstance(each, Resource)}

    def build(record: Mapping[str, Any]) -> Code:
        needs = tuple(resources[name] for name in record.get("needs", ()))
        optional_fields = {key: record[key] for key in ("area", "gate", "brief", "update") if key in record}
        return Code(
            record["code"],
            record["title"],
            record["about"],
            needs,
            asks=tuple(record.get("asks", ())),
            **optional_fields,
        )

    return {area: tuple(map(build, records)) for area, records in knowledge_file("findings")["areas"].items()}


class Severity(str, Enum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        """The worst has the lowest rank."""
        return _SEVERITY_RANKS[self]


class Status(str, Enum):
    """`PASS`: checked, and nothing is in the way. `UNKNOWN` never counts as a pass."""

    FAIL = "fail"
    PASS = "pass"
    UNKNOWN = "unknown"

    @property
    def rank(self) -> int:
        """The worst has the lowest rank."""
        return _STATUS_RANKS[self]

    @staticmethod
    def worst(statuses: Iterable[Status]) -> Status:
        """The worst of them; `PASS` if there are none."""
        return min(statuses, key=lambda each: each.rank, default=Status.PASS)


_SEVERITY_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
_STATUS_RANKS = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.PASS: 2}


class When(str, Enum):
    """NOW: can be done in the maintenance window. LATER: a change for the owners of the subject."""

    NOW = "now"
    LATER = "later"


@frozen
class Subject:
    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@frozen
class Remedy:
    """One sentence, and the command or patch that does it ("" if a person must decide)."""

    text: str
    command: str = ""
    when: When = When.NOW

    @staticmethod
    def of(name: str, /, **values: object) -> Remedy:
        """A remedy by its record: one that several texts share, or that a rule chooses.

        Raises:
            KeyError: as `Finding.of`.
        """
        return _remedy_from_record(knowledge_file("findings")["remedies"][name], values)

    def for_target(self, target: CommandTarget) -> Remedy:
        """With flags added to its commands (and to the rollback command in its text), so that they reach the cluster
        that was read."""
        text, marker, rollback = self.text.partition(ROLLBACK)
        return replace(self, text=f"{text}{marker}{target.add_to(rollback)}", command=target.add_to(self.command))

    @property
    def dated_text(self) -> str:
        """The text, with the time it is to be done unless that is now."""
        return self.text if self.when is When.NOW else f"{self.when.value}: {self.text}"


@frozen
class Finding:
    """A finding. `missing` names the permission, kind or fact that an UNKNOWN lacks; `unknowns` are the unknown
    answers, if they are kept. `root_cause`: the subject that causes it, None if that is its own subject."""

    code: Code
    severity: Severity
    status: Status
    subject: Subject
    message: str
    evidence: tuple[str, ...] = ()
    remedy: tuple[Remedy, ...] = ()
    missing: str = ""
    root_cause: Subject | None = None
    unknowns: tuple[Unknown, ...] = ()

    @staticmethod
    def of(
        text: TextName,
        subject: Subject,
        evidence: tuple[str, ...] = (),
        /,
        *,
        severity: Severity | None = None,
        remedy: tuple[Remedy, ...] = (),
        root_cause: Subject | None = None,
        **values: object,
    ) -> Finding:
        """A finding by its record (`knowledge/findings.json`). `text`: a code, followed by a slash and the name of the
        text if the code has several; `values` fill the texts, an `Unknown` by its reason. `severity` only if the record
        has none; `remedy` is added after the remedies of the record.

        Raises:
            KeyError: there is no such text, or one of its values is missing; a test finds both before a user does.
        """
        record = _record_parts("texts")[text]
        level = Severity(record["severity"]) if severity is None else severity
        own_remedies = (
            _remedy_from_record(each, values)
            for each in record.get("remedies", ())
            if values.get(each.get("if"), True) and not values.get(each.get("unless"))
        )
        message, missing = _fill_template(record["message"], values), _fill_template(record.get("missing", ""), values)
        status, remedies = Status(record["status"]), (*own_remedies, *remedy)
        unknowns = tuple(each for each in values.values() if isinstance(each, Unknown))
        return Finding(
            Code.of(text), level, status, subject, message, evidence, remedies, missing, root_cause, unknowns
        )


def clause(name: ClauseName, /, **values: object) -> str:
    """A part of a text, such as an unknown fact, or one entry of a list. `name`: a code, a slash and the name of one of
    its clauses or of a shared clause.

    Raises:
        KeyError: as `Finding.of`.
    """
    code_clauses = _record_parts("clauses")
    return _fill_template(
        code_clauses[name] if name in code_clauses else knowledge_file("findings")["clauses"][name.partition("/")[2]],
        values,
    )


def _remedy_from_record(record: Mapping[str, str], values: Mapping[str, object]) -> Remedy:
    text, command = (_fill_template(record.get(part, ""), values) for part in ("text", "command"))
    return Remedy(text, command, When(record.get("when", When.NOW.value)))


def _fill_template(template: str, values: Mapping[str, object], number: object = "#") -> str:
    """Fill a template. ``{count:# pod|# pods}``: the first variant if the value is 1, true, or a text that is not
    empty; # is replaced by the value. Both variants may contain values."""
    parts = []
    for words, field, conversion, spec, variants in _parse_template(template):
        parts.append(words.replace("#", str(number)))
        if field:
            value = _FORMATTER.convert_field(_FORMATTER.get_field(field, (), values)[0], conversion or None)
            if variants:
                is_singular = bool(value) if isinstance(value, str) else value == 1
                parts.append(_fill_template(variants[not is_singular], values, value))
            else:
                parts.append(format(value, spec))
    return "".join(parts)


_FORMATTER = Formatter()


@cache
def _parse_template(template: str) -> tuple[tuple[str, str, str, str, tuple[str, ...]], ...]:
    return tuple(
        (words, field or "", conversion or "", spec or "", _split_variants(spec or ""))
        for words, field, spec, conversion in _FORMATTER.parse(template)
    )


def _split_variants(spec: str) -> tuple[str, ...]:
    """The parts before and after the first | outside of braces; empty if there is none."""
    depth = 0
    for at, symbol in enumerate(spec):
        depth += (symbol == "{") - (symbol == "}")
        if symbol == "|" and not depth:
            return spec[:at], spec[at + 1 :]
    return ()


def text_name_of(code: CodeName, message: str) -> str:
    """The name of the text that a message was made from, "" if it is not known or the code has only one text. If
    several texts match, the one with the most literal characters."""
    return next((text for text, pattern in _message_patterns().get(code, ()) if pattern.fullmatch(message)), "")


@cache
def _message_patterns() -> Mapping[CodeName, tuple[tuple[str, re.Pattern[str]], ...]]:
    by_code: dict[CodeName, list[tuple[int, str, re.Pattern[str]]]] = {}
    for text, record in _record_parts("texts").items():
        parts = [(words, "" if value is None else ".*") for words, value, *_ in _FORMATTER.parse(record["message"])]
        pattern = re.compile("".join(re.escape(words) + value for words, value in parts), re.DOTALL)
        by_code.setdefault(text.partition("/")[0], []).append((-sum(len(words) for words, _ in parts), text, pattern))
    return {
        code: tuple((text, pattern) for _, text, pattern in sorted(texts, key=lambda each: each[:2]))
        for code, texts in by_code.items()
        if len(texts) > 1
    }


@cache
def _record_parts(part: str) -> Mapping[str, Any]:
    return {
        f"{record['code']}/{case}".rstrip("/"): content
        for records in knowledge_file("findings")["areas"].values()
        for record in records
        for case, content in record.get(part, {}).items()
    }


def for_target(finding: Finding, target: CommandTarget) -> Finding:
    """With flags added to its commands, so that they reach the cluster that was read."""
    return replace(finding, remedy=tuple(each.for_target(target) for each in finding.remedy))


ROLLBACK = "Rollback: "
"""Starts the last part of a text: the rollback command follows."""


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Worst first, then by code and subject: the same findings always have the same order."""
    return tuple(
        sorted(
            findings,
            key=lambda f: (
                f.status.rank,
                f.severity.rank,
                f.code.name,
                f.subject.kind,
                f.subject.namespace,
                f.subject.name,
                f.message,
            ),
        )
    )


# Findings that a user has accepted until a date, as written in the user's file.


ANY_GLOB = "*"


@frozen
class Suppression:
    """Findings of `code` about subjects whose kind, namespace and name match these globs. `until`: the last day (UTC)
    on which it applies; `where`: its location, as in ``accepted.yaml, entry 2``."""

    code: str
    reason: str
    until: date
    kind: str = ANY_GLOB
    namespace: str = ANY_GLOB
    name: str = ANY_GLOB
    where: str = ""
