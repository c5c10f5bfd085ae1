"""One module for each architecture: WORKLOAD, `arrays` and `build`, as in the 2017 study.

Hyper-parameters and order of layers are those of the scripts in
github.com/minimaxir/deep-learning-cpu-gpu-benchmark (2017-07-04), which follow the Keras examples
of that time. Where a default has changed since (Adadelta's learning rate), the old one is named.
"""

from __future__ import annotations

from suite.models import (
    cifar10_cnn,
    imdb_bidirectional_lstm,
    imdb_fasttext,
    lstm_text_generation,
    mnist_cnn,
    mnist_mlp,
)

MODELS = {
    module.WORKLOAD.name: module
    for module in (
        mnist_mlp,
        mnist_cnn,
        cifar10_cnn,
        imdb_fasttext,
        imdb_bidirectional_lstm,
        lstm_text_generation,
    )
}
