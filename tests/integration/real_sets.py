"""Small real sets in the files that the four real ones come in, from what is at hand.

The study's own sets cannot be had from a package registry, so these stand in:

- digits.csv.gz: 1,797 handwritten digits of 43 people, 8 x 8 pixels of 0 to 16 and the digit, from
  the forms of NIST that MNIST's come from too. E. Alpaydin and C. Kaynak, "Optical Recognition of
  Handwritten Digits", UCI Machine Learning Repository, 1998 (CC BY 4.0); the test set, as
  scikit-learn ships it.
- Python's own manual (pydoc) as text, and its paragraphs against its library's source as reviews of
  two kinds.
"""

import gzip
import io
import pickle
import re
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from pydoc_data import topics

import numpy as np

from tests.conftest import DATA

REVIEW = 120
"""Words of one text that stands for a review."""


def write(folder: Path) -> None:
    """Write mnist.npz, cifar-10-python.tar.gz, imdb.npz and nietzsche.txt."""
    images, labels = _digits()
    _mnist(folder / "mnist.npz", images, labels)
    _cifar(folder / "cifar-10-python.tar.gz", images, labels)
    manual = "\n\n".join(topics.topics[name] for name in sorted(topics.topics))
    (folder / "nietzsche.txt").write_text(manual[:100_000], encoding="utf-8")
    _imdb(folder / "imdb.npz", manual)


def _digits() -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(DATA / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int64)
    return (table[:, :64].reshape(-1, 8, 8) * 255 // 16).astype(np.uint8), table[:, 64]


def _mnist(path: Path, images: np.ndarray, labels: np.ndarray) -> None:
    wide = np.pad(images.repeat(3, axis=1).repeat(3, axis=2), ((0, 0), (2, 2), (2, 2)))
    np.savez(
        path,
        x_train=wide[:1400], y_train=labels[:1400], x_test=wide[1400:], y_test=labels[1400:],
    )  # fmt: skip


def _cifar(path: Path, images: np.ndarray, labels: np.ndarray) -> None:
    wide = images.repeat(4, axis=1).repeat(4, axis=2)[:, None].repeat(3, axis=1)
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    with tarfile.open(path, "w:gz") as archive:
        for number, name in enumerate(names):
            some = slice(number * 280, (number + 1) * 280)
            told = {b"data": wide[some].reshape(-1, 3072), b"labels": labels[some].tolist()}
            content = _pickled(told)
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def _imdb(path: Path, manual: str) -> None:
    """Words by their rank, the manual's 1 and the source's 0, one after the other."""
    source = "\n".join(
        Path(name.__file__ or "").read_text() for name in (tarfile, gzip, pickle, re)
    )
    kinds = [re.findall(r"\w+", text.lower())[: 200 * REVIEW] for text in (source, manual)]
    rank = {word: n for n, (word, _) in enumerate(Counter(kinds[0] + kinds[1]).most_common(), 1)}
    reviews = np.empty(400, dtype=object)
    for number in range(400):
        begin = number // 2 * REVIEW
        reviews[number] = [rank[word] for word in kinds[number % 2][begin : begin + REVIEW]]
    labels = np.arange(400) % 2
    with zipfile.ZipFile(path, "w") as archive:
        for name, values in (("train", slice(0, 300)), ("test", slice(300, 400))):
            archive.writestr(f"x_{name}.npy", _objects(reviews[values]))
            archive.writestr(f"y_{name}.npy", _numbers(labels[values]))


def _pickled(value: object) -> bytes:
    """Return what numpy 1 would have written, for the numpy of every TensorFlow."""
    return pickle.dumps(value, protocol=2).replace(b"numpy._core", b"numpy.core")


def _objects(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(values))
    return file.getvalue() + _pickled(values)


def _numbers(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()
