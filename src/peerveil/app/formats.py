"""Names and labels of the formats of private files, without loading the readers."""

from __future__ import annotations

import sys

#: The labels of the formats that Peerveil itself reads.
LABELS = {
    "openreview": "OpenReview",
    "hotcrp": "HotCRP",
    "easychair": "EasyChair",
    "cmt": "Microsoft CMT",
    "csv": "CSV",
    "tsv": "TSV",
    "parquet": "Parquet",
    "jsonl": "JSON Lines",
    "json": "JSON",
}


def format_labels() -> dict[str, str]:
    """Return the label of each format that can be read, including those of registered readers.

    The readers are looked up only if their package is loaded, which registering another one requires.
    """
    loaded = sys.modules.get("peerveil.private.readers")
    readers = {} if loaded is None else loaded.READERS
    return LABELS | {name: getattr(reader, "label", name) for name, reader in readers.items() if name not in LABELS}
