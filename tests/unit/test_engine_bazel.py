"""Lines that Bazel, compilers and kernels really printed."""

import pytest

from tfbuild.engine import bazel
from tfbuild.record import Actions

# Printed by Bazel 4.2.3 (first four), and in the forms of later versions.
SUMMARIES = {
    "INFO: 30 processes: 9 internal, 21 processwrapper-sandbox.": Actions(
        total=30, cached=0, executed=21
    ),
    "INFO: 19 processes: 18 remote cache hit, 1 internal.": Actions(
        total=19, cached=18, executed=0
    ),
    "INFO: 30 processes: 3 remote cache hit, 9 internal, 18 processwrapper-sandbox.": Actions(
        total=30, cached=3, executed=18
    ),
    "INFO: 0 processes.": Actions(total=0, cached=0, executed=0),
    "INFO: 1 process: 1 internal.": Actions(total=1, cached=0, executed=0),
    "INFO: 14,103 processes: 1,200 disk cache hit, 2,103 internal, 10,800 local.": Actions(
        total=14103, cached=1200, executed=10800
    ),
    "INFO: 5 processes: 4 action cache hit, 2 internal, 3 linux-sandbox.": Actions(
        total=5, cached=4, executed=3
    ),
}


@pytest.mark.parametrize("line", SUMMARIES)
def test_summary(line: str) -> None:
    assert bazel.summary(line) == SUMMARIES[line]


@pytest.mark.parametrize(
    "line",
    [
        "INFO: Build completed successfully, 30 total actions",
        "INFO: Elapsed time: 12.341s, Critical Path: 2.30s",
        "INFO: From Compiling tensorflow/core/kernels/conv.cc:",
        "30 processes: 9 internal",
    ],
)
def test_other_lines_are_no_summary(line: str) -> None:
    assert bazel.summary(line) is None


def test_progress() -> None:
    line = "[20 / 30] Compiling tensorflow/core/kernels/multiply64.cc; 0s remote-cache"
    assert bazel.progress(line) == (
        20,
        30,
        "Compiling tensorflow/core/kernels/multiply64.cc; 0s remote-cache",
    )
    assert bazel.progress("[12,345 / 16,950] 40 actions, 32 running") == (
        12345,
        16950,
        "40 actions, 32 running",
    )
    assert bazel.progress("Analyzing: target //tensorflow (3 packages loaded)") is None
    assert bazel.progress("[100%] Built target x") is None


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/ld: error: undefined symbol: foo",
        "x.o: undefined reference to `foo'",
        "collect2: error: ld returned 1 exit status",
        "tfbuild: Bazel was not found: bazel",
        "cc1plus: error: bad value 'skylak' for '-march=' switch",
        "ModuleNotFoundError: No module named 'numpy'",
    ],
)
def test_error_lines(line: str) -> None:
    assert bazel.is_error(line)


@pytest.mark.parametrize(
    "line",
    [
        "c++: fatal error: Killed signal terminated program cc1plus",
        "java.lang.OutOfMemoryError: Java heap space",
        "cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes",
        "virtual memory exhausted: Cannot allocate memory",
        "collect2: fatal error: ld terminated with signal 9 [Killed]",
    ],
)
def test_out_of_memory(line: str) -> None:
    assert bazel.is_memory(line)


@pytest.mark.parametrize(
    "line",
    [
        "cc1plus: Cannot allocate memory",
        "ERROR: /x/BUILD:4:1: Compiling a.cc failed: (Killed): gcc failed: error executing command",
        "MemoryError",
    ],
)
def test_words_that_mean_it_only_in_a_failure(line: str) -> None:
    assert bazel.is_memory(line, in_failure=True)
    assert not bazel.is_memory(line)


def test_a_name_is_no_lack_of_memory() -> None:
    assert not bazel.is_memory("Compiling tensorflow/core/kernels/killed_op.cc; 1s")


def test_colours_go() -> None:
    assert bazel.plain("\x1b[31m\x1b[1mERROR: \x1b[0mno such package") == "ERROR: no such package"


@pytest.mark.parametrize(
    "line",
    [
        "tfbuild: Bazel 4.2.3, -march=nehalem",
        "tfbuild: /out/tensorflow-2.15.1-x.whl",
        # Of a client that finds the server of a build that was killed.
        "Killed non-responsive server process (pid=13997)",
    ],
)
def test_what_is_no_error(line: str) -> None:
    assert not bazel.is_error(line)
