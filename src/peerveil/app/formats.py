"""Names and labels of the formats of private files, without loading the readers."""

from __future__ import annotations

import sys

from peerveil.support.discovery import declared

#: The labels of generic tables.
TABLES = {"csv": "CSV", "tsv": "TSV", "parquet": "Parquet", "jsonl": "JSON Lines", "json": "JSON"}


def format_labels() -> dict[str, str]:
    """Return the label of each format that can be read: of platforms, tables, and readers that users registered.

    The latter are looked up only if the readers' package is loaded, which registering another one requires.
    """
    labels = declared("private.readers") | TABLES
    loaded = sys.modules.get("peerveil.private.readers")
    readers = {} if loaded is None else loaded.READERS
    return labels | {name: getattr(reader, "label", name) for name, reader in readers.items() if name not in labels}
