"""Releases of many venues."""
