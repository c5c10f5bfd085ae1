"""What the machine code of a library shows, and which part of it always runs."""

from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, kw_only=True)
class Count:
    """A number, exact or estimated from a sample: then `low` to `high` is its 95 % interval."""

    value: int
    low: int
    high: int

    @classmethod
    def exactly(cls, value: int) -> "Count":
        """Return a number that was counted, not estimated."""
        return cls(value=value, low=value, high=value)

    @property
    def is_exact(self) -> bool:
        """Whether it was counted."""
        return self.low == self.value == self.high


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many instructions of some code use what.

    Absent keys are zero; in a component's part of a sample, what is absent was not seen.
    """

    functions: int
    """How many pieces of code between symbols, decoded or not."""
    bytes: int
    """Their size, decoded or not."""
    decoded: int
    """Bytes of them that were decoded: all, or the sample."""
    instructions: Count
    extensions: dict[str, Count]
    """By extension, Linux spelling; an instruction counts under each extension that it needs.

    "baseline" is what every x86-64 CPU has, and what older CPUs run as a nop or (tzcnt) as bsf.
    """
    widths: dict[int, Count]
    """By the widest vector operand in bits: 128 (xmm; scalars too), 256, 512 (zmm)."""
    encodings: dict[str, Count]
    """Of vector instructions: "sse", "vex" (AVX), "evex" (AVX-512)."""
    fused: Count
    """Fused multiply-adds, with and without AVX-512 ("fma" counts the latter only)."""

    def has(self, extension: str) -> int:
        """Return how many instructions need an extension."""
        count = self.extensions.get(extension)
        return count.value if count else 0

    @property
    def vectors(self) -> int:
        """Instructions with vector registers."""
        return sum(count.value for count in self.widths.values())


@dataclass(frozen=True, kw_only=True)
class Part:
    """The code of one component in one library."""

    component: str
    """Key of data/components.toml ("eigen", "xnnpack"); "other" and "unknown" are keys too."""
    always: Tally
    """Code that no known check of the CPU guards."""
    dispatched: Tally
    """Code that runs only after a check of the CPU, as its name says."""


@dataclass(frozen=True, kw_only=True)
class Witness:
    """A function that uses an extension without a known check of the CPU."""

    function: str
    """Readable name, template arguments left out: "Eigen::internal::gebp_kernel::operator()"."""
    symbol: str
    """As the symbol table has it, cut at 400 characters; "" without one."""
    address: int
    library: str
    component: str
    instruction: str
    """The first such instruction: "vfmadd231ps zmm0,zmm1,zmm2"."""
    guard: str = ""
    """The check that guards it but promises less ("avx2"); "" without any."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """An extension without which code that always runs would die."""

    extension: str
    """Linux spelling."""
    functions: int
    """How many decoded functions need it: all, or those of the sample."""
    first: tuple[Witness, ...]
    """Up to five of them, by address."""


@dataclass(frozen=True, kw_only=True)
class Generator:
    """A component that writes machine code at run time, which is therefore in no file."""

    component: str
    extensions: tuple[str, ...]
    """Instruction sets that it has generators for, as its own names say, older first; none where it
    takes whatever the CPU has."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the machine code of one library, or of all libraries of a wheel together, shows."""

    SCHEMA: ClassVar[str] = "tfbuild.code"
    VERSION: ClassVar[int] = 1

    machine: str
    """"x86_64" or "i686"."""
    mode: Literal["full", "sample"]
    seed: int | None
    """Of the sample: the same file and seed give the same functions."""
    symbols: Literal["full", "exported", "none"]
    """Which names there are; without the full table, little can be attributed."""
    total: Tally
    parts: tuple[Part, ...]
    """By component, largest first; they add up to the total."""
    needs: tuple[Need, ...]
    """What code that always runs needs beyond the baseline, older extensions first."""
    generators: tuple[Generator, ...]
    undecodable: int
    """Bytes among the decoded that are no instruction: data among the code."""
    data: int
    """Bytes not decoded: what a symbol declares to be data, and padding."""
    unsure: tuple[Need, ...] = ()
    """What further libraries need in code without names, which may be chosen at run time."""

    @property
    def required(self) -> frozenset[str]:
        """Extensions without which code that always runs would die."""
        return frozenset(need.extension for need in self.needs)

    def part(self, component: str) -> Part | None:
        """Return the part of one component, None where the library has none of it."""
        return next((part for part in self.parts if part.component == component), None)
