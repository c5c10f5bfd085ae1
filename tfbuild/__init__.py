"""Compile TensorFlow for the CPU it runs on, measure it, and publish it."""

__version__ = "0.1.0"
