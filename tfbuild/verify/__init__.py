"""Checks that a wheel is what its name says: whole, installable, made for its CPU, and right."""
