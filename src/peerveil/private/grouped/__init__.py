"""Releases about groups of reviewers: promises of them, and releases of several groups of papers at once."""
