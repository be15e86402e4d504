"""Synthetic conferences and the paper's experiments."""
