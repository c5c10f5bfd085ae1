"""The job list of a matrix, as other systems read it: GitHub Actions, GitLab, Kubernetes."""

import hashlib
import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

from tfbuild.errors import UsageError
from tfbuild.matrix import Row

FORMATS = ("json", "github", "gitlab", "kubernetes")
# docs.github.com, "Running variations of jobs in a workflow": 256 jobs for each run.
_MOST_OF_GITHUB = 256
_LONGEST_NAME = 63
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def document(
    rows: Sequence[Row], kind: str, *, output_dir: str, image: str = "", claim: str = ""
) -> str:
    """Return the job list.

    Args:
        rows: the jobs.
        kind: one of FORMATS.
        output_dir: where the commands put wheels.
        image: container image with tfbuild, for GitLab and Kubernetes.
        claim: Kubernetes' persistent volume claim that takes the wheels.

    Raises:
        UsageError: the system cannot take these jobs, or something is missing.
    """
    if kind == "github":
        return _github(rows)
    made: object = [_plain(row) for row in rows]
    if kind == "gitlab":
        made = {_name(row): _gitlab(row, output_dir, image) for row in rows}
    elif kind == "kubernetes":
        made = _kubernetes(rows, output_dir, image, claim)
    return json.dumps(made, indent=2) + "\n"


def _plain(row: Row) -> dict[str, str]:
    return {
        "name": _name(row),
        "target": row.job.target,
        "tensorflow": row.job.tensorflow,
        "python": row.job.python,
        "command": shlex.join(row.command),
    }


def _github(rows: Sequence[Row]) -> str:
    """Return one line, as an output of a job has to be; `fromJSON` makes a strategy of it."""
    if len(rows) > _MOST_OF_GITHUB:
        raise UsageError(
            f"GitHub Actions takes at most {_MOST_OF_GITHUB} jobs of a matrix; these are "
            f"{len(rows)}.",
            do="Print it in parts: fewer --target, --tensorflow or --python.",
        )
    return json.dumps({"include": [_plain(row) for row in rows]}) + "\n"


def _gitlab(row: Row, output_dir: str, image: str) -> dict[str, Any]:
    return {
        **({"image": image} if image else {}),
        "script": [shlex.join(row.command)],
        "artifacts": {"paths": [f"{output_dir}/"]},
    }


def _kubernetes(rows: Sequence[Row], output_dir: str, image: str, claim: str) -> dict[str, Any]:
    if not image or not claim:
        raise UsageError(
            "Kubernetes' jobs need an image and a place for the wheels.",
            do="Name both: --image REGISTRY/TFBUILD:TAG --claim PERSISTENT-VOLUME-CLAIM",
        )
    if not output_dir.startswith("/"):
        raise UsageError(
            f"{output_dir} is no place in a container.",
            why="Kubernetes mounts the volume that takes the wheels there.",
            do="Name a whole path: --output-dir /wheels",
        )
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [_job(row, output_dir, image, claim) for row in rows],
    }


def _job(row: Row, output_dir: str, image: str, claim: str) -> dict[str, Any]:
    container = {
        "name": "tfbuild",
        "image": image,
        # Kubernetes would put a variable in the place of $(NAME).
        "command": [word.replace("$(", "$$(") for word in row.command],
        "volumeMounts": [{"name": "wheels", "mountPath": output_dir}],
    }
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": {"kubernetes.io/arch": _ARCHITECTURES[row.architecture]},
        "containers": [container],
        "volumes": [{"name": "wheels", "persistentVolumeClaim": {"claimName": claim}}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": _name(row), "labels": {"app.kubernetes.io/name": "tfbuild"}},
        "spec": {"backoffLimit": 1, "template": {"spec": pod}},
    }


def _name(row: Row) -> str:
    """Return a name that every system takes: lower case, digits, hyphens, 63 at most."""
    job = row.job
    words = f"tfbuild-{job.target}-{job.tensorflow}-py{job.python}"
    plain = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    if len(plain) <= _LONGEST_NAME:
        return plain
    mark = hashlib.sha256(words.encode()).hexdigest()[:8]
    return f"{plain[: _LONGEST_NAME - 9].rstrip('-')}-{mark}"
