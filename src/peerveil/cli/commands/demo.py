"""`peerveil demo`: a synthetic conference, end to end."""

from __future__ import annotations

from pathlib import Path

from peerveil.app.requests import DemoRequest
from peerveil.cli import options as opt

# ruff: noqa: PLC0415 - commands import what they need when they run


@opt.with_options
def demo(request: DemoRequest) -> None:
    """Make a synthetic conference and release all four quantities of it, end to end."""
    from peerveil.app.demo import demo
    from peerveil.cli.working import after_writing, working

    if request.export is not None:
        _export(request)
        return
    with working("Inventing a conference") as step:
        made = demo(request, step)
    with after_writing(request.output):
        from rich.rule import Rule
        from rich.text import Text

        from peerveil.app.demo import CRITERIA
        from peerveil.cli.show import error_table, out, release_panel

        out.print(Rule(Text("Peerveil demo", style="bold")))
        out.print(
            f"A synthetic conference: {made.papers} papers, {made.reviews} reviews, {made.reviewers} "
            f"reviewers who differ in leniency and in how they weigh {', '.join(CRITERIA[:-1])} and {CRITERIA[-1]}. "
            "Everyone can see which scores and grades each paper got; who gave them is secret.\n"
        )
        for release, errors in made.releases:
            out.print(release_panel(release))
            out.print("How public data helped (the truth is known here only because the conference is invented):")
            out.print(error_table(errors))
            out.print()
        folder = Path(request.output)
        out.print(
            f"Written to {folder}: reviews.csv, public.csv, and a release with its report.html for each quantity.",
            soft_wrap=True,
        )
        out.print(f"Try:  peerveil inspect {folder / 'reviews.csv'}", soft_wrap=True)


def _export(request: DemoRequest) -> None:
    """Write the conference as platforms export it, and show how to look at each file."""
    from peerveil.app.demo import write_exports
    from peerveil.cli.show import out
    from peerveil.cli.working import after_writing
    from peerveil.simulation.exports import PRIVATE

    written = write_exports(request)
    with after_writing(request.output):
        out.print("Written, with invented reviews. Look at them with", soft_wrap=True)
        for name, kind in written.items():
            person = " --person subreviewer" if kind.startswith("easychair") else ""
            note = "" if kind in PRIVATE else "   # public scores"
            out.print(f"  peerveil inspect {Path(request.output) / name}{person}{note}", soft_wrap=True)
