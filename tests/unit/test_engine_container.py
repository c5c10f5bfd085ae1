"""What Docker and Podman have in common, on an engine that only writes down what it is told."""

# ruff: noqa: ARG002 - the recording engine has the real one's arguments

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tfbuild import recipe, target
from tfbuild.engine import container
from tfbuild.engine.base import Exit, Facts, OnLine, Setup
from tfbuild.engine.client import LABEL_OWNER, Plan
from tfbuild.engine.container import ContainerEngine
from tfbuild.engine.owner import alive, owner
from tfbuild.errors import EngineError
from tfbuild.recipe import Sources

RECIPE = recipe.make("2.15.1", "3.11", target.find("haswell"))


class Recording:
    """A container engine that does nothing but remember."""

    name = "docker"

    def __init__(self, *, code: int = 0, builds: bool = True) -> None:
        self.calls: list[str] = []
        self.images: dict[str, str] = {RECIPE.base_image: "sha256:" + "ee" * 32}
        self.labelled: Mapping[str, str] = {}
        self.there: dict[str, Mapping[str, str]] = {}
        self.plans: list[Plan] = []
        self.running: set[str] = set()
        self.volumes: dict[str, Mapping[str, str]] = {}
        self.code = code
        self.builds = builds
        self.own_proxies: dict[str, str] = {}
        self.proxies_given: Mapping[str, str] = {}
        self.interrupted = False
        self.archived: dict[str, str] = {}

    def facts(self) -> Facts:
        return Facts(name="docker", version="1", architecture="x86_64", cpus=2, memory=2**34)

    def image(self, tag: str) -> str | None:
        return self.images.get(tag)

    def labels(self, image: str) -> Mapping[str, str]:
        return self.labelled

    def digest(self, image: str) -> str:
        return "sha256:" + "ef" * 32

    def pull(self, tag: str, on_line: OnLine) -> None:
        self.calls.append(f"pull {tag}")
        raise EngineError("docker cannot fetch it.", why="dial tcp: lookup x: no such host")

    def proxies(self) -> Mapping[str, str]:
        return self.own_proxies

    def commit(self, container: str, tag: str) -> str:
        self.calls.append(f"commit {tag.rpartition('-')[2]}")
        self.images[tag] = f"sha256:{tag}"
        return self.images[tag]

    def tag(self, image: str, tag: str) -> None:
        self.images[tag] = image

    def untag(self, tag: str) -> None:
        del self.images[tag]

    def build(
        self,
        context: Path,
        *,
        stage: str,
        tag: str,
        labels: Mapping[str, str],
        on_line: OnLine,
        proxies: Mapping[str, str],
    ) -> bool:
        assert (context / "Dockerfile").is_file()
        self.calls.append(f"build {stage}")
        self.labelled = labels
        self.proxies_given = proxies
        on_line("Step 1/1 : FROM x")
        if self.builds:
            self.images[tag] = "sha256:" + "ab" * 32
        return self.builds

    def containers(self, label: str, value: str) -> dict[str, Mapping[str, str]]:
        return {key: one for key, one in self.there.items() if one.get(label) == value}

    def is_running(self, container: str) -> bool:
        return container in self.running

    def make_volume(self, name: str, labels: Mapping[str, str]) -> None:
        self.volumes[name] = labels

    def create(self, plan: Plan) -> str:
        self.plans.append(plan)
        self.calls.append("create")
        return "new"

    def put(
        self, container: str, folder: str, files: Mapping[str, bytes], *, mode: int = 0o755
    ) -> None:
        self.calls.append(f"put {folder} {sorted(files)}")

    def run(self, container: str, on_line: OnLine) -> Exit:
        self.calls.append("run")
        if self.interrupted:
            raise KeyboardInterrupt
        return Exit(code=self.code)

    def get(self, container: str, folder: str, into: Path) -> None:
        self.calls.append(f"get {folder}")

    def remove(self, container: str) -> None:
        self.calls.append(f"remove {container}")

    def save(self, tags: Sequence[str], path: Path) -> None:
        self.calls.append(f"save {' '.join(tags)}")

    def load(self, path: Path, on_line: OnLine) -> None:
        self.calls.append(f"load {path}")
        self.images.update(self.archived)

    def send(self, container: str, folder: str, files: Mapping[str, Path]) -> None:
        self.calls.append(f"send {folder} {sorted(files)}")


def ignore(line: str) -> None:
    assert line


def test_an_image_that_is_there_is_not_built_again() -> None:
    client = Recording()
    engine = ContainerEngine(client=client)
    first = engine.prepare(RECIPE, ignore)
    assert engine.prepare(RECIPE, ignore) == first
    assert client.calls == ["build toolchain"]


def test_the_toolchain_tells_what_it_was_made_from() -> None:
    engine = ContainerEngine(client=Recording())
    assert engine.base(engine.prepare(RECIPE, ignore)) == "sha256:" + "ef" * 32
    assert engine.base(None) == ""
    pin = "sha256:" + "12" * 32
    pinned = recipe.make(
        "2.15.1", "3.11", target.find("haswell"), Sources(base_image=f"debian@{pin}")
    )
    client = Recording()
    client.images[pinned.base_image] = "sha256:1"
    engine = ContainerEngine(client=client)
    assert engine.base(engine.prepare(pinned, ignore)) == pin


def test_targets_share_the_toolchain() -> None:
    other = recipe.make("2.15.1", "3.11", target.find("nehalem"))
    assert container.image_tag(other) == container.image_tag(RECIPE)
    assert other.digest != RECIPE.digest


def test_the_whole_compile(tmp_path: Path) -> None:
    client = Recording()
    end = ContainerEngine(client=client).compile(RECIPE, "sha256:" + "cd" * 32, tmp_path, ignore)
    assert end.code == 0
    assert client.calls == [
        "create",
        "put /tfbuild ['build.sh', 'tfbuild.bazelrc']",
        "put /tfbuild/setup ['run.bazelrc']",
        "run",
        "get /out",
        "remove new",
    ]
    volumes = dict(client.plans[0].volumes)
    assert volumes == {
        "tfbuild-cache-cdcdcdcdcdcdcdcd": "/cache",
        "tfbuild-downloads": "/cache/repository",
    }
    assert client.plans[0].labels[container.LABEL_RECIPE] == RECIPE.digest


def test_nothing_is_copied_from_a_failed_compile(tmp_path: Path) -> None:
    client = Recording(code=1)
    ContainerEngine(client=client).compile(RECIPE, "image", tmp_path, ignore)
    assert client.calls[-2:] == ["run", "remove new"]


def test_an_interrupt_removes_the_container(tmp_path: Path) -> None:
    client = Recording()
    client.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        ContainerEngine(client=client).compile(RECIPE, "image", tmp_path, ignore)
    assert client.calls[-1] == "remove new"


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    client = Recording()
    gone = f"{socket.gethostname()}:4194300:1"
    client.there = {"old": {container.LABEL_RECIPE: RECIPE.digest, LABEL_OWNER: gone}}
    ContainerEngine(client=client).compile(RECIPE, "image", tmp_path, ignore)
    assert client.calls[0] == "remove old"


def test_a_compile_at_work_is_left_alone(tmp_path: Path) -> None:
    client = Recording()
    labels = {container.LABEL_RECIPE: RECIPE.digest, LABEL_OWNER: owner()}
    client.there = {"busy": labels}
    with pytest.raises(EngineError, match="compiled already"):
        ContainerEngine(client=client).compile(RECIPE, "image", tmp_path, ignore)
    assert client.calls == []


@pytest.mark.parametrize("name", ["", "host", "host:12", "host:x:1", "elsewhere:1:1", "::"])
def test_unknown_owners_are_not_alive(name: str) -> None:
    assert not alive(name)


def test_this_process_is_alive() -> None:
    assert alive(owner())


def test_a_number_that_was_given_again_is_another_process() -> None:
    host, process, _ = owner().rsplit(":", maxsplit=2)
    assert not alive(f"{host}:{process}:1")


def test_image_that_cannot_be_built() -> None:
    client = Recording(builds=False)
    with pytest.raises(EngineError, match="could not build the toolchain image"):
        ContainerEngine(client=client).prepare(RECIPE, ignore)


def test_base_image_out_of_reach() -> None:
    client = Recording()
    client.images = {}
    with pytest.raises(EngineError, match="cannot reach a server"):
        ContainerEngine(client=client).reaches(RECIPE, "github.com", 443)
    with pytest.raises(EngineError, match="cannot reach a server"):
        ContainerEngine(client=client).prepare(RECIPE, ignore)


def test_a_host_is_never_part_of_the_shell_line() -> None:
    client = Recording()
    client.images[RECIPE.base_image] = "sha256:1"
    evil = "x;touch /tmp/evil"
    ContainerEngine(client=client).reaches(RECIPE, evil, 443)
    command = client.plans[0].command
    assert [word for word in command if evil in word] == [evil]


SECRET = Setup(environment={"ALL_PROXY": "socks5://u:hush@far:1"}, files={"key.pem": b"hush"})


def test_proxies_that_a_builder_forgets_go_to_the_builder() -> None:
    client = Recording()
    environment = {"HTTPS_PROXY": "http://far:1", "no_proxy": "near"}
    ContainerEngine(client=client).prepare(RECIPE, ignore, Setup(environment=environment))
    assert "build toolchain" in client.calls
    assert client.proxies_given == environment


def test_keys_of_the_compile_do_not_reach_the_toolchain() -> None:
    client = Recording()
    ContainerEngine(client=client).prepare(RECIPE, ignore, Setup(files={"key.pem": b"hush"}))
    assert not client.plans


def test_what_a_builder_would_record_goes_into_a_nameless_volume() -> None:
    client = Recording()
    ContainerEngine(client=client).prepare(RECIPE, ignore, SECRET)
    assert client.proxies_given == {}
    assert [plan.private for plan in client.plans] == ["/tfbuild/setup"] * 5
    assert not any(plan.environment for plan in client.plans)
    put = [call for call in client.calls if call.startswith("put")]
    assert put == ["put /tfbuild/setup ['ca-certificates.pem', 'environment']"] * 5
    steps = ["packages", "compiler", "python", "bazel", "source"]
    assert [call for call in client.calls if call.startswith("commit")] == [
        f"commit {name}" for name in steps
    ]
    tag = container.image_tag(RECIPE)
    assert set(client.images) - {RECIPE.base_image} == {tag}, "the steps' names are gone"
    assert client.images[tag] == f"sha256:{tag}-source"


def test_a_step_that_failed_is_tried_again_and_no_other() -> None:
    client = Recording(code=1)
    engine = ContainerEngine(client=client)
    with pytest.raises(EngineError):
        engine.prepare(RECIPE, ignore, SECRET)
    assert [call for call in client.calls if call.startswith("commit")] == []
    tag = container.image_tag(RECIPE)
    client.images |= {f"{tag}-packages": "sha256:p", f"{tag}-compiler": "sha256:c"}
    client.code = 0
    client.plans.clear()
    engine.prepare(RECIPE, ignore, SECRET)
    assert [plan.command[-1] for plan in client.plans] == ["python", "bazel", "source"]
    assert client.plans[0].image == "sha256:c"


def test_the_engines_own_proxies_are_meant_for_containers(tmp_path: Path) -> None:
    client = Recording()
    client.own_proxies = {"HTTPS_PROXY": "http://bridge:1"}
    setup = Setup(environment={"HTTPS_PROXY": "http://host:1", "NO_PROXY": "x"})
    ContainerEngine(client=client).compile(RECIPE, "image", tmp_path, ignore, setup)
    given = client.plans[-1].environment
    assert (given["HTTPS_PROXY"], given["NO_PROXY"]) == ("http://bridge:1", "x")


def test_another_machines_compile_that_runs_is_left_alone(tmp_path: Path) -> None:
    client = Recording()
    labels = {container.LABEL_RECIPE: RECIPE.digest, LABEL_OWNER: "elsewhere:12:34"}
    client.there = {"far": labels}
    client.running = {"far"}
    with pytest.raises(EngineError, match="compiled already") as caught:
        ContainerEngine(client=client).compile(RECIPE, "image", tmp_path, ignore)
    assert "tfbuild on elsewhere" in caught.value.why
    assert client.calls == []
    client.running = set()
    ContainerEngine(client=client).compile(RECIPE, "image", tmp_path, ignore)
    assert client.calls[0] == "remove far"


def test_of_two_that_come_at_once_one_is_told_who_the_other_is(tmp_path: Path) -> None:
    class Quick(Recording):
        def create(self, plan: Plan) -> str:
            labels = {container.LABEL_RECIPE: RECIPE.digest, LABEL_OWNER: owner()}
            self.there = {"quicker": labels}
            raise EngineError("docker refused.", why=f"The name {plan.name} is in use.")

    with pytest.raises(EngineError, match="compiled already") as caught:
        ContainerEngine(client=Quick()).compile(RECIPE, "image", tmp_path, ignore)
    assert "quicker" in caught.value.why


def test_volumes_carry_labels(tmp_path: Path) -> None:
    client = Recording()
    ContainerEngine(client=client).compile(RECIPE, "sha256:" + "cd" * 32, tmp_path, ignore)
    assert client.volumes == {
        "tfbuild-cache-cdcdcdcdcdcdcdcd": {
            "tfbuild.cache": "actions",
            "tfbuild.what": "TensorFlow 2.15.1 for Python 3.11",
        },
        "tfbuild-downloads": {"tfbuild.cache": "downloads"},
    }


def test_a_look_at_the_network_costs_no_answer_when_its_container_stays() -> None:
    class Stuck(Recording):
        def remove(self, container: str) -> None:
            raise EngineError("docker does not answer.")

    client = Stuck()
    client.images[RECIPE.base_image] = "sha256:1"
    assert ContainerEngine(client=client).reaches(RECIPE, "github.com", 443)
