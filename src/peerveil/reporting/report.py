"""The report of a release: one self-contained HTML page that runs no script, rendered from published data alone."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from peerveil.inference.verdict import PROMISES
from peerveil.mechanisms import kind_of
from peerveil.privacy.guarantee import Guarantee, exact, upward
from peerveil.record.parts import is_open
from peerveil.reporting.charts.before_after import refinement
from peerveil.reporting.charts.bounds import proven
from peerveil.reporting.charts.distribution import cumulative, histogram
from peerveil.reporting.charts.look import dark_css, to_svg
from peerveil.reporting.metadata import bibtex, croissant, dataset, licence_address
from peerveil.reporting.published import CROISSANT, Published
from peerveil.reporting.published import FIGURES as FIGURES  # noqa: PLC0414 - named here by version 0.1
from peerveil.reporting.typography import unbroken_page
from peerveil.reporting.words import quantity_words, reviewers, say, say_of, say_or

#: The largest number of reviewers for which the report embeds release.csv.
_EMBEDDED = 2_000

#: Decimals beyond which a number is a rounding error.
_DIGITS = 9

#: Ranks in the table, as percentages of the reviewers.
_PERCENTAGES = {0: "smallest", 10: "", 25: "", 50: "half", 75: "", 90: "", 100: "greatest"}


#: The function that draws the chart in each file.
DRAW = dict(zip(FIGURES, (histogram, cumulative, refinement, proven), strict=True))


def figures(release: Published) -> dict[str, str]:
    """Return the charts of a release as SVG, by file name."""
    return {name: to_svg(draw(release)) for name, draw in DRAW.items()}


def report_html(release: Published, *, pictures: Mapping[str, str], table: str) -> str:
    """Return the report, with charts from :func:`figures` and the text of release.csv.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2, quantity="ratings")
    >>> release = pv.refine([1.0, 2.5, 2.0, 4.5], weights, mechanism=pv.Laplace(scale=1.0))
    >>> page = report_html(release, pictures=figures(release), table=release.to_csv())
    >>> "How the reviewers rate" in page, page.count("<script"), page.count('<script type="application/ld+json">')
    (True, 1, 1)
    """
    # The page has one style for all charts; each has its own only in its file.
    inline = [svg.replace(f"<style>{dark_css()}</style>", "", 1) for svg in pictures.values()]
    people, name = reviewers(release.loads.reviewers), release.mechanism["name"]
    kind, measured = kind_of(name), quantity_words(release.quantity)
    sentence = say("report.mechanism_is", name=name) if kind is None else kind.sentence
    return rendered(
        "report.html",
        release=release,
        say=say_of(release.quantity),
        about=release.terms.about,
        venue=release.venue,
        title=release.title,
        meaning=measured.meaning,
        unit=f" ({measured.unit.strip()})" if measured.unit else "",
        reviewers=say("report.estimated", reviewers=people) if is_open(release.part) else people,
        pictures=inline,
        picture_style=dark_css(),
        deciles=_deciles(release),
        rests=_rests(release),
        symbols=symbols(release.guarantee),
        estimated=is_open(release.part),
        mechanism=say_or("mechanism", name, sentence).replace("of means", f"of {measured.numbers}"),
        parameters=_parameters(release.mechanism),
        estimator=say(f"estimator.{release.estimator}") if release.estimator in PROMISES else "",
        accuracy=say_or("accuracy", release.estimator, PROMISES.get(release.estimator, "")),
        day=release.created.strftime("%Y-%m-%d"),
        time=release.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        licence_address=licence_address(release.terms.licence),
        bibtex=bibtex(release),
        metadata=dataset(release),
        table=base64.b64encode(table.encode()).decode() if release.values.size <= _EMBEDDED else None,
    )


def write_report(release: Published, folder: Path, *, files: Mapping[str, bytes]) -> None:
    """Write report.html, the files of its charts and croissant.json into a folder, given the data files."""
    pictures = figures(release)
    (folder / "figures").mkdir(exist_ok=True)
    for name, svg in pictures.items():
        (folder / name).write_text(svg, encoding="utf-8")
    page = report_html(release, pictures=pictures, table=files["release.csv"].decode())
    (folder / "report.html").write_text(page, encoding="utf-8")
    (folder / CROISSANT).write_text(croissant(release, files), encoding="utf-8")


def rendered(name: str, **values: Any) -> str:
    """Return the page of a template, in which numbers stay with their units."""
    return unbroken_page(template(name).render(**values))


@cache
def template(name: str) -> jinja2.Template:
    """Return a template, which refuses undefined names."""
    loader = jinja2.PackageLoader("peerveil.reporting")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = lambda value: f"{value:,}"
    environment.globals["say"] = say
    return environment.get_template(name)


def _deciles(release: Published) -> list[dict[str, str]]:
    """The rows of the table of ranks."""
    n = release.values.size
    rows = []
    for percentage, key in _PERCENTAGES.items():
        name = say(f"report.{key}") if key else f"{percentage} %"
        rank = max(1, math.ceil(n * percentage / 100))
        row = {"share": name, "rank": f"{rank:,}", "mean": _short(release.values[rank - 1])}
        if release.outlook is not None:
            row["band"] = _between(release.outlook.lower[rank - 1], release.outlook.upper[rank - 1], "almost")
        row["proven"] = _between(release.lower[rank - 1], release.upper[rank - 1], "exactly")
        rows.append(row)
    return rows


def _rests(release: Published) -> list[tuple[list[str], str]]:
    """The sentences of findings, with what they rest on: those that rest on the same together."""
    rests: dict[str, list[str]] = {}
    for finding in release.findings:
        rests.setdefault(finding.assumption, []).append(finding.sentence)
    return [(sentences, assumption) for assumption, sentences in rests.items()]


def _between(low: float, high: float, certainty: str) -> str:
    """An interval, or the one number that both of its ends round to.

    >>> _between(5.5, 5.61, "exactly"), _between(5.5, 5.501, "almost")
    ('5.5 to 5.61', '5.5, almost certainly')
    """
    ends = _short(low), _short(high)
    if ends[0] == ends[1]:
        return say(f"report.{certainty}", number=ends[0])
    return say("report.between", low=ends[0], high=ends[1])


def _short(number: float) -> str:
    """A number with three digits; what rounding errors leave of zero is zero.

    >>> _short(5.514), _short(-1.26e-15), _short(12345.6)
    ('5.51', '0', '12,346')
    """
    return f"{round(float(number), _DIGITS) + 0.0:.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def _parameters(mechanism: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and value of each stated parameter."""
    stated = {key: value for key, value in mechanism.items() if key != "name" and isinstance(value, int | float | str)}
    return [(key, value if isinstance(value, str) else f"{value:.6g}") for key, value in stated.items()]


def symbols(guarantee: Guarantee) -> list[dict[str, str]]:
    """Return the numbers of the claim's formulas; none if the claim is in the words of others."""
    if guarantee.kind == "stated":
        return []
    formulas = []
    if guarantee.kind == "gdp":
        formulas.append({"kind": "gdp", "mu": upward(guarantee.mu or 0.0, 4)})
    elif guarantee.kind in ("zcdp", "tcdp"):
        omega = "" if guarantee.omega is None else exact(guarantee.omega)
        formulas.append({"kind": "concentrated", "rho": exact(guarantee.rho or 0.0), "omega": omega})
    pure = guarantee.kind == "pure"
    epsilon = exact(guarantee.epsilon or 0.0) if pure else upward(guarantee.epsilon or 0.0, 4)
    formulas.append({"kind": "plain", "epsilon": epsilon, "delta": "" if pure else exact(guarantee.delta or 0.0)})
    return formulas
