"""Readable names, against c++filt and against damage."""

import random
import re
import shutil
import subprocess

import pytest

from tests.conftest import DATA, need
from tfbuild.code import names

# Taken at random from the symbol tables of tensorflow-cpu 2.8.4, 2.18.0, 2.21.0 and jaxlib 0.4.38.
REAL = (DATA / "mangled_names.txt").read_text().split()
_OPERATOR = re.compile(r"operator(?:<=>|<<=?|>>=?|->\*?|<=?|>=?|\(\))")
_NAMELESS = "(anonymous namespace)"


def without_arguments(text: str) -> str:
    """Leave the template arguments, lambdas' parameters and marks out of what c++filt prints."""
    text = re.sub(r"\[abi:\w+\]| \[clone [^\]]*\]", "", text)
    left, depth, at = "", 0, 0
    while at < len(text):
        kept = _OPERATOR.match(text, at) if not depth else None
        word = kept[0] if kept else _NAMELESS if text.startswith(_NAMELESS, at) else text[at]
        if word in {"<", "("}:
            depth += 1
        elif word == ")" or (word == ">" and text[at - 1] != "-"):
            depth -= 1
        elif not depth:
            left += word
        at += len(word)
    # A template that stands for a scope keeps its return type, and a scope its qualifiers.
    left = re.sub(r"(?:(?<=::)|^)(?:\w[\w:]* )?(?= )", "", left)
    left = re.sub(r"\s*(?:const|&&?|volatile)(?=::|$)", "", left)
    return re.sub(r'operator (?!new|delete|co_await|"").*', "operator", left).strip()


def test_names_are_what_cxxfilt_says() -> None:
    need(shutil.which("c++filt"), "c++filt is missing")
    done = subprocess.run(
        ["c++filt", "-p"], input="\n".join(REAL), capture_output=True, text=True, check=True
    )
    pairs = zip(REAL, done.stdout.splitlines(), strict=True)
    understood = [(symbol, text) for symbol, text in pairs if text != symbol]
    assert len(understood) > 0.98 * len(REAL)
    wrong = [
        (names.readable(symbol), without_arguments(text))
        for symbol, text in understood
        if names.readable(symbol) != without_arguments(text)
    ]
    assert len(wrong) <= 0.01 * len(understood), wrong


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        (
            "_ZNK5Eigen8internal11gebp_kernelIddlNS0_16blas_data_mapperIdlLi0EEEEclERKS3_l",
            "Eigen::internal::gebp_kernel::operator()",
        ),
        ("_ZN3foo3barC2Ei", "foo::bar::bar"),
        ("_ZN3foo3barD0Ev", "foo::bar::~bar"),
        ("_ZThn16_N3foo3bar3bazEv", "non-virtual thunk to foo::bar::baz"),
        ("_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo"),
        ("_ZZN3foo3barEvENKUlvE0_clEv", "foo::bar::{lambda#2}::operator()"),
        ("_ZN3foo3barB5cxx11Ev", "foo::bar"),
        ("_ZN3foolsERSoRKS_", "foo::operator<<"),
        ("_ZL8functioni", "function"),
        ("_ZN3fooIXsr3std7is_sameIiT_EE5valueEE3barEv", "foo::bar"),
        ("kernel_avx2", "kernel_avx2"),
        ("_Z", "_Z"),
        ("_ZN", "_ZN"),
        ("_ZN3foo", "_ZN3foo"),
        ("_ZN99999foo3barEv", "_ZN99999foo3barEv"),
        ("", ""),
    ],
)
def test_a_name(symbol: str, text: str) -> None:
    assert names.readable(symbol) == text


@pytest.mark.parametrize(
    "symbol",
    [
        "_Z" + "N3foo" * 5000 + "E" * 5000 + "v",
        "_ZN3fooI" + "X" * 30_000,
        "_Z" + "Tv0_n1_" * 9000 + "3foov",
        "_Z" + "Z" * 50_000,
        "_ZN3fooI" + "P" * 50_000 + "i" + "E3barEv",
        "_ZN3fooI" + "J" * 50_000,
        "_Z3foo" * 100_000,
    ],
    ids=lambda symbol: symbol[:12],
)
def test_absurd_names_come_back(symbol: str) -> None:
    assert names.readable(symbol)


def test_damaged_names_never_raise() -> None:
    chance = random.Random(4)
    for _ in range(3000):
        symbol = chance.choice(REAL)
        start, end = sorted(chance.randrange(2, len(symbol)) for _ in range(2))
        letters = "".join(chance.choices("NEISTZLX0123_DtvPRKsr", k=chance.randrange(4)))
        damaged = symbol[:start] + letters + symbol[end:]
        assert isinstance(names.readable(damaged), str)
