"""Which target a wheel claims."""

import pytest

from tfbuild.verify.expected import claimed

END = "cp312-cp312-linux_x86_64.whl"


@pytest.mark.parametrize(
    ("label", "target", "width"),
    [
        ("skylake", "skylake", 256),
        ("skylake.w512", "skylake", 512),
        ("skylake.w512.o3.lto", "skylake", 512),
        ("skylake.client", "skylake-client", 256),
        ("skylake.client.pgo", "skylake-client", 256),
        ("x86.64.v3", "x86-64-v3", 256),
        ("x86.64", "x86-64", 128),
        ("haswell.x1a2b3c", "haswell", 256),
        ("haswell.w999", "haswell", 256),
        ("zen3", "zen3", 256),
        ("zen33", None, 0),
        ("cpu", None, 0),
    ],
)
def test_by_the_label(label: str, target: str | None, width: int) -> None:
    found = claimed(f"tensorflow-2.21.0+{label}-{END}")
    assert (found.name if found else None) == target
    assert found is None or found.vector_width == width


def test_without_a_label() -> None:
    assert claimed(f"tensorflow-2.21.0-{END}") is None
    assert claimed("no wheel") is None


def test_the_record_comes_before_the_label() -> None:
    name = f"tensorflow-2.21.0+company1-{END}"
    assert claimed(name) is None
    found = claimed(name, {"target": "haswell"})
    assert found is not None
    assert found.name == "haswell"
    wide = claimed(f"tensorflow-2.21.0+skylake.w512-{END}", {"target": "skylake"})
    assert wide is not None
    assert wide.vector_width == 512


@pytest.mark.parametrize("target", ["nonsense", 7, None, ["haswell"]])
def test_a_record_that_says_anything(target: object) -> None:
    assert claimed(f"tensorflow-2.21.0-{END}", {"target": target}) is None
    found = claimed(f"tensorflow-2.21.0+zen3-{END}", {"target": target})
    assert found is not None
    assert found.name == "zen3"
