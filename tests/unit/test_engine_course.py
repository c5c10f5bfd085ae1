"""Lines that Bazel really prints about what it does."""

import pytest

from tfbuild.engine.course import Follower, running
from tfbuild.engine.events import Action, Event


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Bazel 4.2.3
        (
            (
                "Compiling tensorflow/core/kernels/sqrt.cc; 0s remote-cache, linux-sandbox ... "
                "(3 actions, 2 running)"
            ),
            (2, "Compiling tensorflow/core/kernels/sqrt.cc"),
        ),
        ("Compiling a/b.cc; 12s processwrapper-sandbox", (1, "Compiling a/b.cc")),
        (
            "[Prepa] BazelWorkspaceStatusAction stable-status.txt",
            (0, "BazelWorkspaceStatusAction stable-status.txt"),
        ),
        ("[Prepa] Linking x ... (4 actions, 0 running)", (0, "Linking x")),
        ("", (0, "")),
        # Of builds with later versions
        (
            "Compiling c.cc; 360s remote-cache, processwrapper-sandbox ... (20 actions running)",
            (20, "Compiling c.cc"),
        ),
        ("Compiling c.cc; 3s local ... (1,200 actions running)", (1200, "Compiling c.cc")),
        ("Compiling c.cc; 3s local ... (1 action running)", (1, "Compiling c.cc")),
        ("[Scann] Compiling c.cc ... (2 actions)", (0, "Compiling c.cc")),
    ],
)
def test_running(text: str, expected: tuple[int, str]) -> None:
    assert running(text) == expected


def test_phases_and_counts() -> None:
    follower = Follower(lambda: 0.0)
    follower.line("Step 3/9 : RUN sh /tfbuild/toolchain.sh packages")
    assert (follower.course().done, follower.course().total) == (2, 9)
    follower.line("Starting local Bazel server and connecting to it...")
    assert follower.course().phase == "Starting Bazel"
    assert follower.course().total is None, "the steps of the image are over"
    follower.line("Loading: 12 packages loaded")
    follower.event(Event(number=1, done=0, fetched=7))
    course = follower.course()
    assert (course.phase, course.now) == ("Loading", "7 files downloaded; 12 packages loaded")
    follower.line("[1,234 / 34,131] Compiling a.cc; 3s local ... (4 actions, 3 running)")
    course = follower.course()
    assert (course.phase, course.done, course.total) == ("Compiling", 1234, 34131)
    assert (course.running, course.now) == (3, "Compiling a.cc")
    actions = (
        Action(kind="CppCompile", output="a.o"),
        Action(kind="CppCompile", output="b.o"),
        Action(kind="FileWrite", output="c.params"),
    )
    follower.event(Event(number=2, done=3, stored=1, actions=actions))
    course = follower.course()
    assert course.done == 1237, "Bazel's own line was before these"
    assert course.cached == 1, "two run programs; one of them left a new result"
    follower.event(Event(phase="packaging"))
    assert (follower.course().phase, follower.course().running) == ("Packaging", None)


def test_steps_of_a_source_are_not_those_of_the_image() -> None:
    follower = Follower(lambda: 0.0)
    follower.line("Loading: ")
    follower.line("Step 3/9 : of something that a rule prints")
    assert follower.course().total is None
