"""Releases about two conferences: who reviewed for both, and the correlation between their means."""
