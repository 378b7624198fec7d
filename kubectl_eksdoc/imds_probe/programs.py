"""Programs known to ask the instance metadata service, their needs, and the log lines of missing access.

They are sections of `knowledge/software.json`: a program that is not listed may ask the service all the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from kubectl_eksdoc.amazon.addon_needs import image_tag, lookup_by_image
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import DIGEST_PREFIX, redact_message
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records, sections
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import parse_version


class ImdsNeed(str, Enum):
    """What a program asks the service for, as a clause."""

    REGION = "its region"
    VPC = "the id of its VPC"
    METADATA = "metadata of its instance"
    CREDENTIALS = "credentials"


_SHELLS = ("sh", "bash", "ash", "dash")
_VARIABLE = re.compile(r"\$[({]?(\w+)[)}]?")


def _split_words(arguments: Sequence[str]) -> list[str]:
    """The words of the arguments; an argument with spaces is split, as a shell does after ``-c``."""
    return [word for each in arguments for word in (each.split() if any(map(str.isspace, each)) else [each])]


@frozen
class ContainerCommand:
    """The command of a container: its arguments, and the names of its environment variables. `more_variables`: others
    with unknown names come from a ConfigMap or a Secret (envFrom). `values`: of variables in the `told` list of
    knowledge/kept_keys.json that have a value in the pod's spec. `more_secrets`: the others may include access keys."""

    arguments: Sequence[str] = ()
    variables: Sequence[str] = ()
    more_variables: bool = False
    values: tuple[tuple[str, str], ...] = ()
    more_secrets: bool = False

    @property
    def is_shell(self) -> bool:
        """A shell starts the program, so a missing flag may be set all the same."""
        return bool(self.arguments) and self.arguments[0].rpartition("/")[2] in _SHELLS

    def flag(self, name: str) -> str | None:
        """The value of a flag, "" if it is empty, ``?`` for a variable or a digest of a snapshot; None if the flag is
        absent."""
        words = _split_words(self.arguments)
        for index, argument in enumerate(words):
            flag, equals, value = argument.partition("=")
            if flag != name:
                continue
            next_word = words[index + 1] if index + 1 < len(words) else "-"
            return self._resolve(value if equals else "true" if next_word.startswith("-") else next_word)
        return None

    def _resolve(self, value: str) -> str:
        variable = _VARIABLE.fullmatch(value)
        if variable is None:
            return "?" if "$" in value or DIGEST_PREFIX in value else value
        value_known = self.variable(variable.group(1))
        return "?" if value_known is None else value_known

    def variable(self, name: str) -> str | None:
        """As `flag`; ``?`` for a variable with an unknown value."""
        if name not in self.variables:
            return None
        value = dict(self.values).get(name, "?")
        return "?" if value.startswith(DIGEST_PREFIX) else value

    def is_given(self, name: str) -> bool | None:
        """A flag or a variable has a value; None if unknown."""
        if name.startswith("-"):
            value = self.flag(name)
            return None if value is None and self.is_shell else bool(value)
        value = self.variable(name)
        return None if value is None and self.more_variables else bool(value)


@frozen
class ProgramSettings:
    """Flags and variables that give a program what it would ask the service for."""

    region: tuple[str, ...] = ()
    vpc: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()

    def names_for(self, need: ImdsNeed) -> tuple[str, ...]:
        names: tuple[str, ...] = getattr(self, need.name.lower())
        return names


@frozen
class _Mode:
    """`when`: conditions that must all hold, such as ``--provider=aws|aws-sd``, ``!NAME``, ``kind=DaemonSet``,
    ``version<1.4.0``. `note`: why it needs little, a clause."""

    needs: tuple[ImdsNeed, ...]
    when: tuple[str, ...] = ()
    note: str = ""


@frozen
class Program:
    """`images`: ends of its images' repositories. `asks`: it calls AWS by default. The first of its `modes` whose
    conditions hold applies. `on_host`: it runs in the host network by default, where the hop limit has no effect.
    `fix`: the setting to change, a clause. `only_if`: a clause, if its needs depend on a configuration outside of flags
    and variables. `sometimes`: the needs that do, all if empty."""

    name: str
    images: tuple[str, ...]
    source: KnowledgeSource
    asks: bool = True
    modes: tuple[_Mode, ...] = ()
    fix: str = ""
    given: ProgramSettings = ProgramSettings()
    on_host: bool = False
    only_if: str = ""
    sometimes: tuple[ImdsNeed, ...] = ()

    def is_conditional(self, need: ImdsNeed) -> bool:
        return bool(self.only_if) and (not self.sometimes or need in self.sometimes)


@functools.cache
def programs_by_image() -> Mapping[str, Program]:
    """By the ends of their images' repositories."""
    return {image: each for each in sections(Program, "software", "metadata") for image in each.images}


@functools.lru_cache(maxsize=10_000)
def _known_by_image(image: str) -> Program | None:
    """Cached: many pods have the same image."""
    return lookup_by_image(programs_by_image(), image)


def is_known_not_to_ask(image: str) -> bool:
    """The image's program is known not to ask the service."""
    program = _known_by_image(image)
    return program is not None and not program.asks


def program_of(pod: Pod) -> Program | None:
    """The first known program of the pod's images."""
    return next(filter(None, map(program_of_image, pod.calls.images)), None)


def programs_of(pod: Pod) -> Mapping[str, Program]:
    """Known programs, by image."""
    found_programs = {image: program_of_image(image) for image in pod.calls.images}
    return {image: program for image, program in found_programs.items() if program is not None}


def program_of_image(image: str) -> Program | None:
    """By its repository name, independent of the registry; None if it is not known to ask."""
    program = _known_by_image(image)
    return program if program is not None and program.asks else None


@frozen
class ProgramNeeds:
    """Needs that are not met otherwise: `surely`, and needs that it `may` have, depending on unknown facts."""

    surely: tuple[ImdsNeed, ...] = ()
    may: tuple[ImdsNeed, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.surely or self.may)


def needs_of(program: Program, pod: Pod, command: ContainerCommand | None, has_role: bool) -> ProgramNeeds:
    """`command` is None if it was not read. The pod's own role gives it credentials, and nothing else."""
    possible: list[_Mode] = []
    for mode in program.modes:
        # None if unknown.
        answers = [_condition_holds(each, pod, command) for each in mode.when]
        holds = False if False in answers else None if None in answers else True
        if holds is not False:
            possible.append(mode)
        if holds:
            break
    surely: list[ImdsNeed] = []
    may: list[ImdsNeed] = []
    for need in ImdsNeed:
        needed_in_modes = [need in mode.needs for mode in possible]
        is_met = _is_met(program, need, command, has_role)
        if not any(needed_in_modes) or is_met:
            continue
        (surely if all(needed_in_modes) and is_met is False and not program.is_conditional(need) else may).append(need)
    return ProgramNeeds(tuple(surely), tuple(may))


def _is_met(program: Program, need: ImdsNeed, command: ContainerCommand | None, has_role: bool) -> bool | None:
    """None if unknown."""
    names = program.given.names_for(need)
    if need is ImdsNeed.CREDENTIALS and (has_role or (command is not None and _has_credentials_file(command))):
        return True
    if command is None:
        return None if names else False
    if need is ImdsNeed.CREDENTIALS and command.more_secrets:
        return None
    answers = [command.is_given(name) for name in names]
    return True if True in answers else None if None in answers else False


_CREDENTIAL_VARIABLES = ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_PROFILE")
_IMDS_ADDRESSES = ("169.254.169.254", "fd00:ec2::254")
_DISABLED_VARIABLE, _ENDPOINT_VARIABLE = "AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_SERVICE_ENDPOINT"


def _has_credentials_file(command: ContainerCommand) -> bool:
    return any(command.is_given(name) for name in _CREDENTIAL_VARIABLES)


def never_asks(command: ContainerCommand | None) -> bool:
    """The SDK is configured not to ask the service (all AWS SDKs except C++ 1.11 and older read the variable), or to
    ask another endpoint."""
    if command is None:
        return False
    endpoint = command.variable(_ENDPOINT_VARIABLE) or "?"
    is_disabled = (command.variable(_DISABLED_VARIABLE) or "").lower() == "true"
    return is_disabled or not (endpoint == "?" or any(address in endpoint.lower() for address in _IMDS_ADDRESSES))


_VERSION = re.compile(r"version(<|>=)(.+)\Z")


def _condition_holds(condition: str, pod: Pod, command: ContainerCommand | None) -> bool | None:
    if condition.startswith("!"):
        holds = _condition_holds(condition[1:], pod, command)
        return None if holds is None else not holds
    if match := _VERSION.match(condition):
        return _is_older(pod, match.group(2), match.group(1) == "<")
    name, _, expected_values = condition.partition("=")
    if name == "kind":
        return pod.owner is not None and _workload_kind(pod) in expected_values.split("|")
    if command is None:
        return None
    if not name.startswith("-") and name not in command.variables and command.more_variables:
        return None
    value = command.flag(name) if name.startswith("-") else command.variable(name)
    if value is None and name.startswith("-") and command.is_shell:
        return None
    if not expected_values:
        return bool(value) and str(value).lower() != "false"
    return None if value == "?" else (value or "").lower() in expected_values.lower().split("|")


def _workload_kind(pod: Pod) -> str:
    kind = pod.owner.kind if pod.owner is not None else ""
    return "Deployment" if kind == "ReplicaSet" else kind


def _is_older(pod: Pod, limit: str, is_older_wanted: bool) -> bool | None:
    """By the tag of the known image."""
    image = next((each for each in pod.calls.images if program_of_image(each) is not None), "")
    version, limit_version = parse_version(image_tag(image)), parse_version(limit)
    return None if version is None or limit_version is None else (version < limit_version) is is_older_wanted


# Log lines of programs that get nothing from the instance metadata service. They are records
# (`knowledge/metadata_log_lines.json`): credentials, a region or another value was not found. That the metadata service
# is the cause follows only if the pod cannot reach it on its node.


OTHER_CAUSE = "nothing"
"""The value of `lacks` for a line with another cause."""


@frozen
class LogLine:
    """`text`: part of a line, as printed; `lacks`: the missing value, `OTHER_CAUSE` if the line names another cause of
    a failure; `weak`: programs may continue after it. `asks`: the program would have asked the service. `beside`: text
    that the line must contain as well, if `text` alone is ambiguous."""

    text: str
    lacks: str
    program: str
    source: KnowledgeSource
    weak: bool = False
    asks: bool = True
    beside: str = ""


@frozen
class MatchedLogLine:
    """`line`: the last matching line, without surrounding space and credentials. `lines_after`: number of lines after
    it."""

    record: LogLine
    line: str
    lines_after: int = 0

    @property
    def lacks(self) -> str:
        """A clause."""
        return _CLAUSES.get(self.record.lacks, self.record.lacks)


_CLAUSES = {need.name.lower(): need.value for need in ImdsNeed}


@frozen
class LogReading:
    """Result of a log: the last `symptom`, the last `weak` symptom, and a later line that names `another` cause."""

    symptom: MatchedLogLine | None = None
    weak: MatchedLogLine | None = None
    another: MatchedLogLine | None = None


MAX_LINE_LENGTH = 300
_SUCCESS_MARKS = ("200 OK", '"status":200')


LOG_LINES = records(LogLine, "metadata_log_lines")
"""The first record that matches a line counts."""


@functools.cache
def _lowercase_lines() -> tuple[tuple[str, LogLine], ...]:
    return tuple((each.text.lower(), each) for each in LOG_LINES)


def read_log(log: str) -> LogReading:
    """The last line of each kind; a symptom, weak or not, after another cause replaces it."""
    reading = LogReading()
    for matched in _matched_lines(log):
        if matched.record.lacks == OTHER_CAUSE:
            reading = LogReading(reading.symptom, reading.weak, matched)
        elif matched.record.weak:
            reading = LogReading(reading.symptom, matched)
        else:
            reading = LogReading(matched, reading.weak)
    return reading


def is_known_line(line: str) -> bool:
    """The line has a known meaning."""
    return next(_matched_lines(line), None) is not None


def _matched_lines(log: str) -> Iterator[MatchedLogLine]:
    lines = log.splitlines()
    for number, line in enumerate(lines, 1):
        lowered = line.lower()
        record = next(
            (each for text, each in _lowercase_lines() if text in lowered and each.beside.lower() in lowered), None
        )
        if record is not None and not (record.weak and any(mark in line for mark in _SUCCESS_MARKS)):
            yield MatchedLogLine(record, redact_message(line.strip())[:MAX_LINE_LENGTH], len(lines) - number)
