"""The bundled workspace with parts from outside, and the server that has them."""

import functools
import hashlib
import io
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WORKSPACE = """
load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")
load("//third_party:unchecked.bzl", "unchecked")

http_archive(name = "checked", sha256 = "{sha256}", urls = ["{address}/checked.tar.gz"])

unchecked(name = "unchecked", address = "{script}")
"""
# As TensorFlow's own rules do: no hash, a program that runs, a link into the source tree.
RULE = """
def _unchecked_impl(ctx):
    ctx.symlink(Label("//third_party:unchecked.BUILD"), "BUILD")
    line = "curl -fsS {{}} | sh > unchecked.h".format(ctx.attr.address)
    done = ctx.execute(["sh", "-euc", line])
    if done.return_code or not ctx.read("unchecked.h"):
        fail("cannot fetch: " + done.stderr)

unchecked = repository_rule(
    implementation = _unchecked_impl,
    attrs = {{"address": attr.string()}},
    environ = ["PATH"],
)
"""
LIBRARY = """
cc_library(
    name = "{name}",
    hdrs = ["{name}.h"],
    includes = ["."],
    visibility = ["//visibility:public"],
)
"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, sends some elsewhere, and writes each request down."""

    def do_GET(self) -> None:
        for prefix, place in self.server.elsewhere.items():  # type: ignore[attr-defined]
            if self.path.startswith(prefix):
                self.send_response(HTTPStatus.FOUND)
                self.send_header("Location", place + self.path.removeprefix(prefix))
                self.end_headers()
                return
        super().do_GET()

    def log_message(self, form: str, *args: object) -> None:  # noqa: ARG002
        self.server.requests.append(self.path)  # type: ignore[attr-defined]


@contextmanager
def serving(
    folder: Path, host: str, elsewhere: Mapping[str, str] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder; gives its address, and the list that each request is added to.

    Args:
        folder: what is served.
        host: where to listen.
        elsewhere: begin of a path -> address that it is redirected to.
    """
    server = ThreadingHTTPServer((host, 0), functools.partial(Quiet, directory=str(folder)))
    requests: list[str] = []
    server.requests = requests  # type: ignore[attr-defined]
    server.elsewhere = elsewhere or {}  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def bridge() -> str:
    """Return this machine's address as containers see it."""
    form = "{{(index .IPAM.Config 0).Gateway}}"
    words = ["docker", "network", "inspect", "bridge", "--format", form]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    return found or "172.17.0.1"


def offer(folder: Path, note: str = "") -> str:
    """Put what is fetched into the folder of a server; return the archive's SHA-256.

    Args:
        folder: of the server.
        note: makes the archive another one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / "checked.tar.gz", "w:gz") as archive:
        files = {
            "WORKSPACE": f"# {note}\n",
            "BUILD": LIBRARY.format(name="checked"),
            "checked.h": "#define CHECKED 7\n",
        }
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    (folder / "unchecked.sh").write_text("echo '#define UNCHECKED 11'\n")
    return hashlib.sha256((folder / "checked.tar.gz").read_bytes()).hexdigest()


def need_outside(workspace: Path, sha256: str, address: str, script: str) -> None:
    """Let a kernel of the workspace need an archive with a hash, and a repository without one."""
    with (workspace / "WORKSPACE").open("a") as file:
        file.write(WORKSPACE.format(sha256=sha256, address=address, script=script))
    third = workspace / "third_party"
    (third / "unchecked.bzl").write_text(RULE.format())
    (third / "unchecked.BUILD").write_text(LIBRARY.format(name="unchecked"))
    build = workspace / "tensorflow/core/tools/BUILD"
    build.write_text(
        build.read_text().replace(
            '    hdrs = ["coefficients.h"],\n',
            '    hdrs = ["coefficients.h"],\n    deps = ["@checked", "@unchecked"],\n',
        )
    )
    kernel = workspace / "tensorflow/core/kernels/scale.cc"
    kernel.write_text(
        '#include "checked.h"\n#include "unchecked.h"\n'
        'static_assert(CHECKED == 7 && UNCHECKED == 11, "parts from outside");\n'
        + kernel.read_text()
    )
