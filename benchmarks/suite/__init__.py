"""The six architectures of the 2017 cloud CPU study, for TensorFlow 2.8 to 2.21."""
