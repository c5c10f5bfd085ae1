"""Finding an engine, and what is said when there is none."""

from pathlib import Path

import pytest

from tfbuild.engine import choose
from tfbuild.engine.docker_host import unreachable
from tfbuild.engine.podman import PodmanClient
from tfbuild.errors import EngineError, UsageError


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    monkeypatch.setenv("PATH", str(tmp_path))


def test_unknown_word() -> None:
    with pytest.raises(UsageError, match="dcoker") as caught:
        choose("dcoker")
    assert "'docker'" in caught.value.do


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize("name", ["auto", "docker", "podman", "local"])
def test_no_engine(name: str) -> None:
    with pytest.raises(EngineError) as caught:
        choose(name)
    assert caught.value.exit_code == 5
    assert caught.value.why
    assert "nstall" in caught.value.do


@pytest.mark.usefixtures("nothing")
def test_auto_names_both() -> None:
    with pytest.raises(EngineError) as caught:
        choose("auto")
    assert "docker:" in caught.value.why
    assert "podman:" in caught.value.why


@pytest.mark.parametrize(
    ("cause", "advice"),
    [
        ("('Connection aborted.', PermissionError(13, 'Permission denied'))", "docker $USER"),
        ("('Connection aborted.', FileNotFoundError(2, 'No such file'))", "systemctl start"),
        ("('Connection aborted.', ConnectionRefusedError(111, 'Connection refused'))", "systemctl"),
        ("HTTPConnectionPool(host='10.0.0.1', port=2375): timed out", "DOCKER_HOST"),
    ],
)
def test_each_cause_has_its_advice(cause: str, advice: str) -> None:
    error = unreachable(OSError(f"Error while fetching server API version: {cause}"))
    assert advice in error.do


# As podman 4.3.1 with runc 1.1.5 prints it where limits may not be raised.
RLIMIT = (
    "Error: runc: runc create failed: unable to start container process: error during container "
    "init: error setting rlimits for ready process: error setting rlimit type 7: operation not "
    "permitted: OCI permission denied"
)


def test_podman_learns_limits_from_its_own_error() -> None:
    client = PodmanClient()
    assert client._learn(RLIMIT)
    assert list(client._limits) == ["nofile"]
    highest = client._limits["nofile"]
    assert client._learn(RLIMIT), "the same error again: that was still too high"
    assert client._limits["nofile"] < highest
    assert client._learn(RLIMIT.replace("type 7", "type 6"))
    assert list(client._limits) == ["nofile", "nproc"]


# As podman 4.3.1 with crun 1.8.1 prints it on a machine with both generations of cgroups.
CGROUPS = (
    "error running container: from /usr/bin/crun creating container for [/bin/sh -c true]: cgroups "
    "in hybrid mode not supported, drop all controllers from cgroupv2"
)


def test_podman_learns_the_runtime_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runc").write_text("")
    (tmp_path / "runc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    client = PodmanClient()
    assert client._learn(CGROUPS)
    assert client._global == ["--runtime", str(tmp_path / "runc")]
    assert not client._learn(CGROUPS), "nothing else is left to try"


def test_podman_gives_up_when_no_limit_helps() -> None:
    client = PodmanClient()
    assert any(not client._learn(RLIMIT) for _ in range(10))


def test_podman_does_not_learn_from_any_error() -> None:
    assert not PodmanClient()._learn("Error: x: image not known")
