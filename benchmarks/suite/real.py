"""The real sets, read from a folder that holds them under the names that Keras gives them.

Nothing is downloaded here. The files have been checked by hash by whoever named the folder.
"""

from __future__ import annotations

import pickle
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MNIST = "mnist.npz"
CIFAR10 = "cifar-10-python.tar.gz"
IMDB = "imdb.npz"
NIETZSCHE = "nietzsche.txt"

_IMDB_SEED = 113
_OFFSET = 3
_START, _RARE = 1, 2


class Split(NamedTuple):
    """A training and a test set."""

    x: Any
    y: np.ndarray
    x_test: Any
    y_test: np.ndarray


def mnist(folder: Path) -> Split:
    """Return images (60000, 28, 28) and labels, then the 10,000 of the test set; bytes."""
    with np.load(folder / MNIST) as file:
        return Split(file["x_train"], file["y_train"], file["x_test"], file["y_test"])


def cifar10(folder: Path) -> Split:
    """Return images (50000, 32, 32, 3) and labels, then the 10,000 of the test set; bytes."""
    parts: dict[str, dict[bytes, object]] = {}
    with tarfile.open(folder / CIFAR10) as archive:
        for member in archive:
            name = Path(member.name).name
            if name.startswith("data_batch_") or name == "test_batch":
                stream = archive.extractfile(member)
                if stream is not None:
                    parts[name] = pickle.load(stream, encoding="bytes")  # noqa: S301 - hash known
    train = [parts[name] for name in sorted(parts) if name != "test_batch"]
    return Split(*_cifar(train), *_cifar([parts["test_batch"]]))


def _cifar(parts: list[dict[bytes, object]]) -> tuple[np.ndarray, np.ndarray]:
    pixels = np.concatenate([np.asarray(part[b"data"]) for part in parts])
    labels = np.concatenate([np.asarray(part[b"labels"]) for part in parts])
    return pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels


def imdb(folder: Path, words: int) -> Split:
    """Return reviews as word indices below `words`, and sentiments; then the test set's.

    Order and indices are those of Keras: shuffled with its seed, 1 first, 2 for a rarer word.
    """
    with np.load(folder / IMDB, allow_pickle=True) as file:
        sets = [(file[f"x_{part}"], file[f"y_{part}"]) for part in ("train", "test")]
    random = np.random.RandomState(_IMDB_SEED)
    result: list[tuple[list[np.ndarray], np.ndarray]] = []
    for reviews, labels in sets:
        order = np.arange(len(reviews))
        random.shuffle(order)
        result.append(([_indices(reviews[i], words) for i in order], labels[order]))
    return Split(*result[0], *result[1])


def _indices(review: object, words: int) -> np.ndarray:
    index = np.concatenate(([_START], np.asarray(review, dtype=np.int64) + _OFFSET))
    index[index >= words] = _RARE
    return index


def text(folder: Path) -> tuple[np.ndarray, int]:
    """Return the lower-cased text as character codes (length,), and the alphabet's size."""
    characters = (folder / NIETZSCHE).read_text(encoding="utf-8").lower()
    alphabet, codes = np.unique(np.array(list(characters)), return_inverse=True)
    return codes.reshape(-1), len(alphabet)
