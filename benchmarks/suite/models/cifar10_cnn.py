"""A deep convolutional network on CIFAR-10, with shifts and flips made in real time."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from suite import data
from suite.workload import Size, Workload

WORKLOAD = Workload(
    name="cifar10_cnn",
    batch=32,
    # 1562 whole batches of the 50,000 images, as the study's steps_per_epoch.
    train=49_984,
    validation=10_000,
    epochs=20,
    quick_steps=30,
    smoke_steps=10,
    whole=True,
)
SHIFT = 0.1


def arrays(source: data.Source, size: Size) -> data.Arrays:
    """Return images (n, 32, 32, 3) and one-hot labels (n, 10)."""
    return data.cifar10(source, size)


def build(facts: dict[str, int], *, xla: bool = False) -> Any:  # noqa: ARG001 - every shape is fixed
    """Return the compiled model: 1,250,858 parameters."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((32, 32, 3)),
            layers.Conv2D(32, (3, 3), padding="same", activation="relu"),
            layers.Conv2D(32, (3, 3), activation="relu"),
            layers.MaxPooling2D((2, 2)),
            layers.Dropout(0.25),
            layers.Conv2D(64, (3, 3), padding="same", activation="relu"),
            layers.Conv2D(64, (3, 3), activation="relu"),
            layers.MaxPooling2D((2, 2)),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(512, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    # RMSprop(lr=1e-4, decay=1e-6) of the study; `decay` has gone, the schedule is the same.
    rate = tf.keras.optimizers.schedules.InverseTimeDecay(1e-4, decay_steps=1, decay_rate=1e-6)
    model.compile(
        loss="categorical_crossentropy",
        optimizer=tf.keras.optimizers.RMSprop(learning_rate=rate),
        metrics=["accuracy"],
        jit_compile=xla,
    )
    return model


def batches(x: Any, y: Any, batch: int, seed: int) -> Any:
    """Return an endless dataset of shuffled batches of shifted and flipped images.

    Args:
        x: images (n, 32, 32, 3).
        y: labels (n, 10).
        batch: images in a batch; n is a multiple of it.
        seed: of order, shifts and flips.
    """
    images, labels = tf.constant(x), tf.constant(y)
    count = len(x)

    def load(index: Any) -> tuple[Any, Any]:
        return augment(tf.gather(images, index), seed), tf.gather(labels, index)

    order = tf.data.Dataset.range(count).shuffle(count, seed=seed).repeat()
    return order.batch(batch, drop_remainder=True).map(load).prefetch(2)


def augment(images: Any, seed: int) -> Any:
    """Shift each image by up to a tenth of its size and flip half of them from left to right.

    Shifts are whole pixels and the edge is repeated, as the study's generator did (order 0,
    fill mode "nearest").
    """
    count, height, width = tf.shape(images)[0], images.shape[1], images.shape[2]
    rows = _shifted(count, height, seed + 1)
    columns = _shifted(count, width, seed + 2)
    flip = tf.random.uniform((count, 1), -1, 1, seed=seed + 3) < 0
    columns = tf.where(flip, columns[:, ::-1], columns)
    images = tf.gather(images, rows, axis=1, batch_dims=1)
    return tf.gather(images, columns, axis=2, batch_dims=1)


def _shifted(count: Any, size: int, seed: int) -> Any:
    shift = tf.random.uniform((count, 1), -SHIFT * size, SHIFT * size, seed=seed)
    return tf.clip_by_value(tf.range(size) + tf.cast(tf.round(shift), tf.int32), 0, size - 1)
