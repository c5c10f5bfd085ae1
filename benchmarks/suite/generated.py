"""Data of the real sets' shape, size and vocabulary, made from a seed.

Used where a real set is not at hand. A model's speed does not depend on what the numbers mean, but
a loss that falls shows that training works, so every set can be learned: images are noisy copies
of one pattern for each class, reviews prefer some words by their sentiment, the text is a Markov
chain.
"""

from __future__ import annotations

import numpy as np

WORDS = 20_000
"""Word indices are below this; 0 pads, 1 starts a review, 2 stands for a rare word."""
BIGRAMS = 1_180_000
"""Distinct pairs of neighbouring words, about what 25,000 reviews of IMDB hold."""
ALPHABET = 57
"""Distinct characters of the lower-cased Nietzsche text."""
_FIRST_WORD = 3
_LENGTH_MEDIAN = 178.0
_LENGTH_SIGMA = 0.766
_LENGTH_LIMITS = (11, 2494)
_OPINION_WORDS = 300
_OPINION_SHARE = 0.12
_CHAINS = 1024


def images(
    count: int, shape: tuple[int, int, int], classes: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return images (count, height, width, channels) in 0..1 and their labels (count,)."""
    height, width, channels = shape
    coarse = rng.random((classes, 1 + height // 4, 1 + width // 4, channels), dtype=np.float32)
    patterns = coarse.repeat(4, axis=1).repeat(4, axis=2)[:, :height, :width, :]
    labels = rng.integers(0, classes, count)
    noise = np.frombuffer(rng.bytes(count * height * width * channels), dtype=np.uint8)
    result = noise.reshape(count, height, width, channels).astype(np.float32)
    result *= np.float32(0.5 / 255)
    result += np.float32(0.5) * patterns[labels]
    return result, labels


def lengths(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return review lengths in words: log-normal with IMDB's median (178) and mean (239)."""
    drawn = rng.lognormal(np.log(_LENGTH_MEDIAN), _LENGTH_SIGMA, count)
    return np.clip(drawn, *_LENGTH_LIMITS).astype(np.int64)


def reviews(
    count: int, last: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the last words of reviews, their lengths and sentiments.

    Returns:
        words (count, last): from the last word backwards, 0 where the review has already begun;
        lengths (count,) in words; labels (count,) of 0 and 1.
    """
    size = lengths(count, rng)
    labels = rng.integers(0, 2, count)
    words = _zipf(count * last, rng).reshape(count, last)
    # Two sets of middling frequency, one for each sentiment.
    opinions = _FIRST_WORD + 100 + 2 * rng.integers(0, _OPINION_WORDS, words.shape, dtype=np.int32)
    opinions += labels[:, None].astype(np.int32)
    words = np.where(rng.random(words.shape, dtype=np.float32) < _OPINION_SHARE, opinions, words)
    back = np.arange(last)
    words[back >= size[:, None]] = 0
    words[back == size[:, None] - 1] = 1
    return words, size, labels


def bigram(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return an index for each pair of words, in [WORDS + 1, WORDS + 1 + BIGRAMS)."""
    mixed = (left.astype(np.uint64) * np.uint64(WORDS) + right.astype(np.uint64)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    return ((mixed >> np.uint64(20)) % np.uint64(BIGRAMS)).astype(np.int32) + WORDS + 1


def text(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return `count` characters as codes in [0, ALPHABET), a Markov chain with few likely nexts."""
    frequency = 1.0 / (np.arange(ALPHABET) + 2.0)
    transitions = rng.gamma(0.15, 1.0, (ALPHABET, ALPHABET)) * frequency + 1e-4 * frequency
    cumulative = np.cumsum(transitions / transitions.sum(axis=1, keepdims=True), axis=1)
    steps = -(-count // _CHAINS)
    state = rng.integers(0, ALPHABET, _CHAINS)
    result = np.empty((steps, _CHAINS), dtype=np.int64)
    for step in range(steps):
        drawn = rng.random((_CHAINS, 1))
        state = np.minimum((cumulative[state] < drawn).sum(axis=1), ALPHABET - 1)
        result[step] = state
    return result.T.reshape(-1)[:count]


def _zipf(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return word indices by Zipf's law with Mandelbrot's shift; the rare ones become 2."""
    rank = np.arange(88_000)  # IMDB's whole vocabulary
    cumulative = np.cumsum(1.0 / (rank + 2.7))
    drawn = rng.random(count) * cumulative[-1]
    index = np.searchsorted(cumulative, drawn).astype(np.int32) + _FIRST_WORD
    index[index >= WORDS] = 2
    return index
