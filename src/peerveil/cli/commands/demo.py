"""`peerveil demo`: releases of a synthetic conference."""

from __future__ import annotations

from pathlib import Path

from peerveil.app.requests import DemoRequest
from peerveil.cli import options as opt


@opt.with_options
def demo(request: DemoRequest) -> None:
    """Generate a synthetic conference and release all four of its quantities."""
    from peerveil.app.demo import CRITERIA, demo
    from peerveil.cli.working import after_writing, working

    if request.export is not None:
        _export(request)
        return
    with working("Generating a conference") as step:
        result = demo(request, step)
    with after_writing(request.output):
        from rich.rule import Rule
        from rich.text import Text

        from peerveil.cli.show import error_table, out, release_panel

        out.print(Rule(Text("Peerveil demo", style="bold")))
        out.print(
            f"A synthetic conference: {result.papers} papers, {result.reviews} reviews, {result.reviewers} "
            f"reviewers who differ in leniency and in how they weigh {', '.join(CRITERIA[:-1])} and {CRITERIA[-1]}. "
            "The scores and grades of each paper are public; who gave them is private.\n"
        )
        for release, errors in result.releases:
            out.print(release_panel(release))
            out.print("How public data helped (the true means are known only because the conference is synthetic):")
            out.print(error_table(errors))
            out.print()
        folder = Path(request.output)
        out.print(
            f"Written to {folder}: reviews.csv, public.csv, and one release with a report.html per quantity.",
            soft_wrap=True,
        )
        out.print(f"Try:  peerveil inspect {folder / 'reviews.csv'}", soft_wrap=True)


def _export(request: DemoRequest) -> None:
    """Write the conference in platforms' formats, and print the command that inspects each file."""
    from peerveil.app.demo import write_exports
    from peerveil.cli.show import out
    from peerveil.cli.working import after_writing
    from peerveil.simulation.exports import PRIVATE

    written = write_exports(request)
    with after_writing(request.output):
        out.print("Written, with synthetic reviews. Inspect them with", soft_wrap=True)
        for name, kind in written.items():
            person = " --person subreviewer" if kind.startswith("easychair") else ""
            note = "" if kind in PRIVATE else "   # public scores"
            out.print(f"  peerveil inspect {Path(request.output) / name}{person}{note}", soft_wrap=True)
