"""What a manylinux or musllinux tag promises: auditwheel's policies, which the index goes by.

auditwheel itself would unpack the whole wheel to disk and look for libraries on this machine; only
its tables are used.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

Libc = Literal["glibc", "musl"]
_TAG = re.compile(r"(manylinux|musllinux)_(\d+)_(\d+)_(\w+)")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What every system for which a tag stands has."""

    name: str
    """"manylinux_2_17_x86_64"."""
    release: tuple[int, int]
    """Of the C library: (2, 17)."""
    versions: Mapping[str, frozenset[str]]
    """Symbol versions that are there, by family: "GLIBC" -> {"GLIBC_2.17", ...}."""
    libraries: frozenset[str]
    """Shared libraries that are there."""
    forbidden: Mapping[str, frozenset[str]]
    """Library -> symbols that not all systems have."""

    def lacks(self, version: str) -> bool:
        """Whether a symbol version is of a known family, but not there."""
        family = version.partition("_")[0]
        return family in self.versions and version not in self.versions[family]


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A platform tag taken apart."""

    tag: str
    libc: Libc
    release: tuple[int, int]
    machine: str


def promise(tag: str) -> Promise | None:
    """Take a tag with manylinux's new spelling apart; None where it promises no C library."""
    found = _TAG.fullmatch(tag)
    if found is None:
        return None
    libc: Libc = "glibc" if found[1] == "manylinux" else "musl"
    release = (int(found[2]), int(found[3]))
    return Promise(tag=tag, libc=libc, release=release, machine=found[4])


@cache
def known(libc: Libc, machine: str) -> tuple[Policy, ...]:
    """Return the policies for a machine, the one for the oldest systems first."""
    from auditwheel.architecture import Architecture
    from auditwheel.libc import Libc as Kind
    from auditwheel.policy import WheelPolicies

    try:
        architecture = Architecture(machine)
    except ValueError:
        return ()
    if libc == "glibc":
        found = list(WheelPolicies(libc=Kind.GLIBC, arch=architecture))
    else:
        # With a name it does not look for the musl of this machine.
        found = [
            policy
            for name in ("musllinux_1_1", "musllinux_1_2")
            for policy in WheelPolicies(libc=Kind.MUSL, arch=architecture, musl_policy=name)
        ]
    return tuple(
        sorted(map(_policy, filter(_is_more_than_linux, found)), key=lambda each: each.release)
    )


def _is_more_than_linux(policy: Any) -> bool:  # noqa: ANN401 - auditwheel has no types
    return not policy.name.startswith("linux_")


def _policy(policy: Any) -> Policy:  # noqa: ANN401 - auditwheel has no types
    found = promise(policy.name)
    return Policy(
        name=policy.name,
        release=found.release if found else (0, 0),
        versions={
            family: frozenset(f"{family}_{number}" for number in numbers)
            for family, numbers in policy.symbol_versions.items()
        },
        libraries=policy.whitelist,
        forbidden=policy.blacklist,
    )
