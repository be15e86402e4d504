"""Slow, literal versions of what the package computes fast. Independent of it on purpose."""
