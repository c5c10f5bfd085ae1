"""Arrays for the six architectures: from the real sets where they are, else generated.

Every function takes the amount of work and returns `Arrays` of exactly that many samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suite import generated, real

if TYPE_CHECKING:
    from suite.workload import Size

WINDOW = 40
STEP = 3


class DataError(Exception):
    """The real set was demanded and is not there."""


@dataclass(frozen=True)
class Source:
    """Where data comes from.

    `mode` is "auto" (the real set if its file is in `folder`), "real" (or fail) or "generated".
    """

    folder: Path | None = None
    mode: str = "auto"
    seed: int = 0

    def has(self, file: str) -> bool:
        """Return whether the real set shall be read; raises DataError where it must but cannot."""
        there = self.folder is not None and (self.folder / file).is_file()
        if self.mode == "real" and not there:
            raise DataError(f"{file} is not in {self.folder}, and only real data was asked for.")
        return there and self.mode != "generated"

    @property
    def path(self) -> Path:
        """The folder of the real sets."""
        return self.folder if self.folder is not None else Path()

    def rng(self) -> np.random.Generator:
        """Return the generator from which generated data comes."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Arrays:
    """Training and validation data. `kind` is "real" or "generated"."""

    kind: str
    x: np.ndarray
    y: np.ndarray
    x_validation: np.ndarray | None = None
    y_validation: np.ndarray | None = None
    facts: dict[str, int] = field(default_factory=dict)
    """What a model's shape depends on: {"vocabulary": 1200001}."""


def mnist(source: Source, size: Size) -> Arrays:
    """Return images (n, 28, 28, 1) of 0..1 and one-hot labels (n, 10), float32."""
    if source.has(real.MNIST):
        split = real.mnist(source.path)
        return _real_images(
            split._replace(x=split.x[..., None], x_test=split.x_test[..., None]), size
        )
    return _generated_images(source, size, (28, 28, 1))


def flat(arrays: Arrays) -> Arrays:
    """Return the same with each sample as one row."""
    validation = arrays.x_validation
    if validation is not None:
        validation = validation.reshape(len(validation), -1)
    return replace(arrays, x=arrays.x.reshape(len(arrays.x), -1), x_validation=validation)


def cifar10(source: Source, size: Size) -> Arrays:
    """Return images (n, 32, 32, 3) of 0..1 and one-hot labels (n, 10), float32."""
    if source.has(real.CIFAR10):
        return _real_images(real.cifar10(source.path), size)
    return _generated_images(source, size, (32, 32, 3))


def imdb_words(source: Source, size: Size, length: int) -> Arrays:
    """Return the last `length` words of reviews (n, length), int32, and sentiments (n,)."""
    if source.has(real.IMDB):
        return _real_reviews(real.imdb(source.path, generated.WORDS), size, length)
    words, _, labels = generated.reviews(size.train + size.validation, length, source.rng())
    return _generated(words[:, ::-1], labels, size)


def imdb_bigrams(source: Source, size: Size, length: int) -> Arrays:
    """Return words followed by pairs of words (n, length), int32, and sentiments (n,).

    As in the study, pairs stand after the words and the last `length` entries are kept.
    `facts["vocabulary"]` is the largest index plus one.
    """
    if source.has(real.IMDB):
        split, vocabulary = _with_pairs(real.imdb(source.path, generated.WORDS), size)
        return replace(_real_reviews(split, size, length), facts={"vocabulary": vocabulary})
    words, count, labels = generated.reviews(size.train + size.validation, length + 1, source.rng())
    # Counted from the end: first the pairs, one fewer than words, then the words.
    place = np.arange(length)
    pairs = count[:, None] - 1
    rows = np.arange(len(words))[:, None]
    x = words[rows, np.clip(place - pairs, 0, length)]
    x[place >= pairs + count[:, None]] = 0
    x = np.where(place < pairs, generated.bigram(words[:, 1:], words[:, :-1]), x)
    facts = {"vocabulary": generated.WORDS + 1 + generated.BIGRAMS}
    return replace(_generated(x[:, ::-1], labels, size), facts=facts)


def text_windows(source: Source, size: Size) -> Arrays:
    """Return one-hot windows (n, 40, alphabet) and the next character (n, alphabet), bool."""
    if source.has(real.NIETZSCHE):
        kind, (codes, alphabet) = "real", real.text(source.path)
    else:
        count = STEP * (size.train - 1) + WINDOW + 1
        kind, codes, alphabet = "generated", generated.text(count, source.rng()), generated.ALPHABET
    starts = np.arange(0, len(codes) - WINDOW, STEP)[: size.train]
    hot = np.eye(alphabet, dtype=bool)
    x = hot[codes[starts[:, None] + np.arange(WINDOW)]]
    return Arrays(kind, x, hot[codes[starts + WINDOW]], facts={"alphabet": alphabet})


def _generated_images(source: Source, size: Size, shape: tuple[int, int, int]) -> Arrays:
    x, labels = generated.images(size.train + size.validation, shape, 10, source.rng())
    return _generated(x, np.eye(10, dtype=np.float32)[labels], size)


def _generated(x: np.ndarray, y: np.ndarray, size: Size) -> Arrays:
    x_train, x_validation = np.ascontiguousarray(x[: size.train]), x[size.train :]
    return Arrays(
        "generated", x_train, y[: size.train], np.ascontiguousarray(x_validation), y[size.train :]
    )


def _real_images(split: real.Split, size: Size) -> Arrays:
    hot = np.eye(10, dtype=np.float32)
    return Arrays(
        "real",
        split.x[: size.train].astype(np.float32) / np.float32(255),
        hot[split.y[: size.train]],
        split.x_test[: size.validation].astype(np.float32) / np.float32(255),
        hot[split.y_test[: size.validation]],
    )


def _real_reviews(split: real.Split, size: Size, length: int) -> Arrays:
    return Arrays(
        "real",
        pad(split.x[: size.train], length),
        split.y[: size.train],
        pad(split.x_test[: size.validation], length),
        split.y_test[: size.validation],
    )


def _with_pairs(split: real.Split, size: Size) -> tuple[real.Split, int]:
    """Append to each review its pairs of words that the training set knows; and the vocabulary."""
    # The vocabulary is that of the whole training set at every scale: it is part of the shape.
    known = np.unique(np.concatenate([_pairs(review) for review in split.x]))
    x = [np.concatenate((review, _known(review, known))) for review in split.x[: size.train]]
    x_test = [
        np.concatenate((review, _known(review, known)))
        for review in split.x_test[: size.validation]
    ]
    return split._replace(x=x, x_test=x_test), generated.WORDS + 1 + len(known)


def _pairs(review: np.ndarray) -> np.ndarray:
    return review[:-1] * generated.WORDS + review[1:]


def _known(review: np.ndarray, known: np.ndarray) -> np.ndarray:
    pairs = _pairs(review)
    place = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
    return place[known[place] == pairs] + generated.WORDS + 1


def pad(sequences: list[np.ndarray], length: int) -> np.ndarray:
    """Return the last `length` entries of each, zeros in front of the shorter ones, int32."""
    result = np.zeros((len(sequences), length), dtype=np.int32)
    for row, sequence in enumerate(sequences):
        tail = sequence[-length:]
        result[row, length - len(tail) :] = tail
    return result
