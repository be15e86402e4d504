"""`peerveil tables`: sampled tables for researchers."""

from __future__ import annotations

from peerveil.app.requests import TablesRequest
from peerveil.cli import options as opt
from peerveil.cli.working import after_writing, working


@opt.with_options
def tables(request: TablesRequest, *, as_json: opt.AsJson = False) -> None:
    """Draw tables of papers, pseudonymous reviewers and scores from releases: possible ones, none the true one.

    Papers, public scores and loads are exact; who holds which review is drawn, and so are hidden scores. Tables know
    what the releases tell and nothing else about reviewers; the README beside them says how to use them.
    """
    from peerveil.app.published.tables import sample
    from peerveil.cli.show import out, print_json
    from peerveil.sampling.files import document, told

    with working("Reading") as step:
        sampled = sample(request, step=step)
    with after_writing(request.output):
        if as_json:
            print_json(document(sampled), "tables")
            return
        worst = max(sampled.diagnostics["misplaced"])
        out.print(f"{len(sampled)} tables, as Parquet and CSV: {request.output}", soft_wrap=True)
        out.print(f"They know {told(sampled)}, and nothing else about reviewers: see README.md.")
        out.print(
            f"In the worst table, {100 * worst:.1f} % of the reviewers differ from what the release's posterior asks."
        )
        if not sampled.settling.settled:
            out.print("The draws have not settled: the tables may still resemble a random deal. See diagnostics.svg.")
