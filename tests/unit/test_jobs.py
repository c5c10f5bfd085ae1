"""Job lists: each is read by the schema of the system that it is for."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest

from tfbuild import jobs
from tfbuild.errors import UsageError
from tfbuild.matrix import Job, Row

ODD = 'it\'s $(HOME) `id` ${{ x }} "q" #'


def row(target: str = "haswell", *more: str, architecture: str = "x86_64") -> Row:
    return Row(
        job=Job(target=target, tensorflow="2.21.0", python="3.12"),
        outcome="to do",
        architecture=architecture,
        command=("tfbuild", "wheel", "--target", target, *more),
    )


ROWS = [row(), row("skylake_avx512", "--source", ODD), row("neoverse_v1", architecture="aarch64")]


def made(
    kind: str,
    rows: list[Row] | None = None,
    *,
    output_dir: str = "/wheels",
    image: str = "example.org/tfbuild:1",
    claim: str = "wheels",
) -> Any:
    given = {"output_dir": output_dir, "image": image, "claim": claim}
    return json.loads(jobs.document(rows or ROWS, kind, **given))


def check(schema: str, document: object, folder: Path) -> None:
    path = folder / "document.json"
    path.write_text(json.dumps(document))
    words = ["--builtin-schema", schema, "--default-filetype", "json", str(path)]
    command = [sys.executable, "-m", "check_jsonschema", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def words_of_a_shell(command: str) -> list[str]:
    """What a real shell makes of a command line."""
    script = f'show() {{ printf "%s\\0" "$@"; }}; show {command}'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def test_github_reads_it_as_a_matrix(tmp_path: Path) -> None:
    document = made("github")
    workflow = {
        "on": "push",
        "jobs": {
            "wheel": {
                "runs-on": "ubuntu-latest",
                "strategy": {"matrix": document},
                "steps": [{"run": "${{ matrix.command }}"}],
            }
        },
    }
    check("vendor.github-workflows", workflow, tmp_path)
    assert [entry["target"] for entry in document["include"]] == [r.job.target for r in ROWS]
    assert jobs.document(ROWS, "github", output_dir="w").count("\n") == 1


def test_github_takes_256_jobs() -> None:
    rows = [row(f"t{number}") for number in range(257)]
    assert len(made("github", rows[:256])["include"]) == 256
    with pytest.raises(UsageError, match="at most 256"):
        jobs.document(rows, "github", output_dir="w")


def test_gitlab_reads_it_as_a_pipeline(tmp_path: Path) -> None:
    document = made("gitlab")
    check("vendor.gitlab-ci", document, tmp_path)
    assert len(document) == len(ROWS)
    assert all(job["artifacts"]["paths"] == ["/wheels/"] for job in document.values())
    assert "image" not in next(iter(made("gitlab", image="").values()))


def test_kubernetes_takes_each_job() -> None:
    document = made("kubernetes")
    version = kubernetes_validate.latest_version()
    for job in document["items"]:
        kubernetes_validate.validate(job, version, strict=True)
    pods = [job["spec"]["template"]["spec"] for job in document["items"]]
    assert [pod["nodeSelector"]["kubernetes.io/arch"] for pod in pods] == [
        "amd64",
        "amd64",
        "arm64",
    ]
    # Kubernetes reads $$( as $( and puts no variable there.
    assert pods[1]["containers"][0]["command"][-1] == ODD.replace("$(HOME)", "$$(HOME)")
    assert document["kind"] == "List"


def test_kubernetes_needs_an_image_and_a_volume() -> None:
    with pytest.raises(UsageError, match="image"):
        made("kubernetes", image="")
    with pytest.raises(UsageError, match="place for the wheels"):
        made("kubernetes", claim="")
    with pytest.raises(UsageError, match="no place in a container"):
        made("kubernetes", output_dir="wheels")


@pytest.mark.parametrize("kind", ["json", "github"])
def test_a_shell_reads_the_commands_back(kind: str) -> None:
    document = made(kind)
    listed = document["include"] if kind == "github" else document
    for entry, given in zip(listed, ROWS, strict=True):
        assert words_of_a_shell(entry["command"]) == list(given.command)


def test_gitlabs_script_is_the_command() -> None:
    scripts = [job["script"] for job in made("gitlab").values()]
    assert [words_of_a_shell(script) for (script,) in scripts] == [list(r.command) for r in ROWS]
    assert shlex.split(scripts[1][0])[-1] == ODD


def test_long_names_stay_apart() -> None:
    names = [
        job["metadata"]["name"]
        for job in made("kubernetes", [row("x" * 80 + end) for end in "ab"])["items"]
    ]
    assert len(set(names)) == 2
    # RFC 1123, as Kubernetes asks for it.
    names += [job["metadata"]["name"] for job in made("kubernetes")["items"]]
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name) for name in names)
