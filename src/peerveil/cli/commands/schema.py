"""`peerveil schema`: JSON schemas of what programs read."""

from __future__ import annotations

from typing import Annotated

import typer

Kind = Annotated[str | None, typer.Argument(help="Kind of documents, e.g. batch; all are listed by default.")]


def schema(kind: Kind = None) -> None:
    """Print the JSON schema of what a command prints with --json, or of a batch's log and metrics; or list them."""
    import json
    import sys

    from peerveil.app.schemas import names, schema
    from peerveil.cli.show import out, rows_table

    if kind is not None:
        sys.stdout.write(json.dumps(schema(kind), indent=1) + "\n")
        return
    rows = [(name, str(version), schema(name)["title"]) for name, version in names().items()]
    out.print(rows_table(("kind", "version", "document"), rows))
