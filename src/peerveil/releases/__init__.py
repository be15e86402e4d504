"""Releases: what is published, its files, and how it is refined, verified and compared."""
