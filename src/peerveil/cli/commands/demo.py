"""`peerveil demo`: releases of a synthetic conference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from peerveil.app.requests import DemoRequest
from peerveil.cli import options as opt

if TYPE_CHECKING:
    from peerveil.app.demo import Demo
    from peerveil.releases.release import Release


@opt.with_options
def demo(request: DemoRequest, *, everything: opt.Everything = False) -> None:
    """Generate a synthetic conference and release all four of its quantities."""
    from peerveil.app.demo import demo
    from peerveil.cli.working import after_writing, working

    if request.export is not None:
        _export(request)
        return
    with working("Generating a conference") as step:
        result = demo(request, step)
    with after_writing(request.output):
        from peerveil.cli.show import error_table, out, release_panel

        _summary(result)
        if everything:
            for release, errors in result.releases:
                out.print(release_panel(release, everything=True))
                out.print(error_table(errors))
                out.print()
        _next_steps(Path(request.output), everything=everything)


def _summary(result: Demo) -> None:
    """Print one screen: the conference, the means released first, and all releases in a table."""
    from rich.text import Text

    from peerveil.app.demo import CRITERIA
    from peerveil.cli.show import error_table, histogram, out, rows_table

    out.print(
        f"A synthetic conference: {result.papers} papers, {result.reviews} reviews, {result.reviewers} "
        f"reviewers who differ in leniency and in how they weigh {', '.join(CRITERIA[:-1])} and {CRITERIA[-1]}. "
        "The scores and grades of each paper are public; who gave them is private.\n"
    )
    release, errors = result.releases[0]
    out.print(Text.assemble((release.quantity, "bold"), ": reviewers by their released mean"))
    out.print(histogram(release.values))
    out.print()
    for finding in release.findings[:1]:
        out.print(finding.sentence)
    rows = [
        (released.quantity, _how(released), f"{rmse['released']:.2g}", _word(released))
        for released, rmse in result.releases
    ]
    out.print(rows_table(("released", "noise and estimator", "error", "verdict"), rows))
    out.print("\nHow public data helped (the true means are known, as all is synthetic):")
    out.print(error_table(errors))
    out.print(f"\nEach release: {release.guarantee.summary}. {release.human}\n")


def _how(release: Release) -> str:
    return f"{(release.mechanism or {}).get('name', '')}, {release.estimator}"


def _word(release: Release) -> str:
    return release.verdict.word if release.verdict else ""


def _next_steps(folder: Path, *, everything: bool) -> None:
    """Print what was written, and commands that can be typed as they are."""
    from peerveil.cli.show import out, typed

    out.print(f"Written to {folder}: reviews.csv, public.csv, one folder per release.", soft_wrap=True)
    reviews, public = str(folder / "reviews.csv"), str(folder / "public.csv")
    more = "" if everything else " (each release in full: --all)"
    out.print(f"Next{more}:", soft_wrap=True)
    for arguments in (
        ("inspect", reviews, "--score-scale", "1,10"),
        ("plan", public, "--load", "4", "--score-scale", "1,10"),
        ("verify", str(folder / "ratings"), "--public", public),
    ):
        out.print(f"  {typed(*arguments)}", soft_wrap=True)


def _export(request: DemoRequest) -> None:
    """Write the conference in platforms' formats, and print the command that inspects each file."""
    from peerveil.app.demo import write_exports
    from peerveil.cli.show import out, typed
    from peerveil.cli.working import after_writing
    from peerveil.simulation.exports import PRIVATE

    written = write_exports(request)
    with after_writing(request.output):
        out.print("Written, with synthetic reviews. Inspect them with", soft_wrap=True)
        for name, kind in written.items():
            person = ("--person", "subreviewer") if kind.startswith("easychair") else ()
            note = "" if kind in PRIVATE else "   # public scores"
            out.print(f"  {typed('inspect', str(Path(request.output) / name), *person)}{note}", soft_wrap=True)
