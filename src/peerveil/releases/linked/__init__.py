"""Correlations between two conferences, as they are published."""
