"""Checks of a release and its files, one by one, and their results."""
