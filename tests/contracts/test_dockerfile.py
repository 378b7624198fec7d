"""Properties of the image that need no build: its user, its base image, and its content."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

from kubectl_eksdoc import __version__
from kubectl_eksdoc.in_cluster import command as in_cluster_command
from kubectl_eksdoc.in_cluster import objects as in_cluster
from kubectl_eksdoc.model.api_objects import PROGRAM
from tests import required_programs
from tests.contracts.source import ROOT
from tests.yaml_reader import yaml_documents
from tools import deployment, registry


def instructions() -> list[tuple[str, str]]:
    """(FROM, the instructions after it), with continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def every(word: str) -> list[str]:
    return [rest for name, rest in instructions() if name == word]


def test_it_is_what_a_jobs_pod_expects() -> None:
    assert every("USER") == [f"{in_cluster.USER}:{in_cluster.USER}"] and in_cluster.USER > 0
    assert [json.loads(each) for each in every("ENTRYPOINT")] == [[PROGRAM]]
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    assert f"{PROGRAM} =" in config["options.entry_points"]["console_scripts"]


def test_it_runs_with_a_root_that_is_read_only() -> None:
    environ = dict(word.split("=", 1) for rest in every("ENV") for word in shlex.split(rest))
    assert environ["PYTHONDONTWRITEBYTECODE"] == "1" and environ["HOME"] == in_cluster.HOME
    names = [name for name, _ in instructions()]
    assert names.index("USER") > max(i for i, name in enumerate(names) if name == "RUN"), "nothing is made by that user"
    assert "VOLUME" not in names


def test_its_home_is_that_of_its_user() -> None:
    assert f"install -d -m 0700 -o {in_cluster.USER} -g {in_cluster.USER} {in_cluster.HOME}" in " ".join(every("RUN"))
    assert (ROOT / "Dockerfile").read_text(encoding="utf-8").startswith("# syntax=docker/dockerfile:1\n")


def test_nothing_comes_from_anywhere_but_pinned() -> None:
    names = {name for name, _ in instructions()}
    assert names <= {"FROM", "WORKDIR", "COPY", "RUN", "ARG", "LABEL", "ENV", "USER", "ENTRYPOINT"}, "no ADD of URLs"
    assert {base.split()[0] for base in every("FROM")} == {"${BASE}"}
    assert re.fullmatch(r"BASE=python:3\.[0-9]+-slim-[a-z]+", every("ARG")[0])
    ran = " ".join(every("RUN"))
    assert all("-c constraints.txt" in each or "--no-index" in each for each in every("RUN"))
    assert "--no-build-isolation" in ran and "--no-index" in ran and not re.search(r"curl|wget|https?:|apt", ran)


def test_it_is_of_this_version() -> None:
    """``make image`` sets the version, and uses the image name of ``--in-cluster``."""
    assert every("ARG")[1:] == ["VERSION=unknown"]
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert '--build-arg "VERSION=$(RELEASED)" --tag "kubectl-eksdoc:$(RELEASED)"' in make
    owner = registry.read().owner
    released = f"ghcr.io/{owner.lower()}/kubectl-eksdoc:v{__version__}"
    default = f"kubectl-eksdoc:{__version__}" if owner == registry.PLACEHOLDER else released
    assert default == in_cluster_command.DEFAULT_IMAGE
    labels = dict(word.split("=", 1) for rest in every("LABEL") for word in shlex.split(rest))
    assert labels["org.opencontainers.image.version"] == "${VERSION}"
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_what_it_copies_is_there_and_not_left_out() -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line[0] == "!"]
    copied = [word for rest in every("COPY") for word in rest.split()[:-1]]
    assert copied and sorted(copied) == sorted(allowed)
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run(
        [required_programs.found("hadolint"), str(ROOT / "Dockerfile")], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


# The base for Kustomize: kubectl builds it, and the overlay that is shown names the cluster everywhere.


def built(folder: Path) -> list[dict[str, Any]]:
    command = [required_programs.kubectl(), "kustomize", str(folder), "--load-restrictor", "LoadRestrictionsNone"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return yaml_documents(done.stdout)


def container_of(docs: list[dict[str, Any]]) -> dict[str, Any]:
    (cron_job,) = (each for each in docs if each["kind"] == "CronJob")
    (found,) = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_the_base_is_what_the_command_prints_in_a_namespace_of_its_own() -> None:
    base, printed = built(ROOT / "deploy"), yaml_documents(deployment.PATH.read_text(encoding="utf-8"))
    names = {(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", "")) for each in base}
    assert names - {("Namespace", "eksdoc", "")} == {
        (each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", "")) for each in printed
    }
    owner = registry.read().owner
    image = f"ghcr.io/{owner if owner == registry.PLACEHOLDER else owner.lower()}/kubectl-eksdoc:v{__version__}"
    assert container_of(base)["image"] == image
    verbs = {verb for each in base for rule in each.get("rules", ()) for verb in rule["verbs"]}
    assert verbs <= {"get", "list"}, "it reads"


def test_the_overlay_that_is_shown_names_the_cluster(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "in-cluster.md").read_text(encoding="utf-8")
    (overlay,) = re.findall(r"^<!-- file: kustomization\.yaml -->\n```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    base = re.search(r"https://github\.com/\S+//deploy\?ref=v\S+", overlay)
    assert base is not None and base[0].endswith(f"=v{__version__}")
    (tmp_path / "base").symlink_to(ROOT / "deploy")
    (tmp_path / "kustomization.yaml").write_text(overlay.replace(base[0], "base"), encoding="utf-8")
    container = container_of(built(tmp_path))
    assert container["args"] == ["check", "--cluster-name", "prod", "--region", "eu-central-1"]
    assert {each["name"]: each["value"] for each in container["env"]}["AWS_REGION"] == "eu-central-1"
    left = str(container).replace("prod", "")
    assert deployment.CLUSTER not in left and deployment.REGION not in left
