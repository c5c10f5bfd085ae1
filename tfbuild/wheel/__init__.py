"""Reads any wheel or installed TensorFlow, and labels the wheels that were compiled here."""
