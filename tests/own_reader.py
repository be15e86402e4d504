"""A reader as users write one, in a module that loads quickly: processes of tests import it as an extension."""

from __future__ import annotations

from peerveil.errors import FileError
from peerveil.private.readers import READERS
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.opening import Source
from peerveil.tables.sniffing import Look
from peerveil.tables.table import Table

WHY = "its first line is Paperflow's"


class Paperflow:
    """Lines such as ``P12|rev-7|accept 4|final``; drafts are left out."""

    label = "Paperflow <3"

    def recognise(self, look: Look) -> str:
        return WHY if look.start.startswith("#paperflow\n") else ""

    def extract(self, source: Source, choices: Choices) -> Extract:
        records = [line.split("|") for line in source.text().read().splitlines()[1:]]
        if not all(len(record) == 4 for record in records):
            raise FileError("must have four cells per line", file=source.name)
        kept = [(line, record) for line, record in enumerate(records, 2) if record[3] != "draft"]
        columns = {
            "paper": [record[0] for _, record in kept],
            "reviewer": [record[1] for _, record in kept],
            "score": [record[2].split()[-1] for _, record in kept],
        }
        table = Table.of(source.name, "paperflow", columns, [line for line, _ in kept])
        return Extract(table=table, left_out={"drafts": len(records) - len(kept)}, certain=True)


def install() -> None:
    """Register the reader, as a user's module does when it is imported."""
    READERS["paperflow"] = Paperflow()
