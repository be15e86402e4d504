"""Output of the command line: JSON, tables and panels."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.segment import Segment, Segments
from rich.table import Column, Table
from rich.text import Text

from peerveil.cli.options import option
from peerveil.cli.working import after_writing
from peerveil.errors import spelled
from peerveil.inference.verdict import PROMISES
from peerveil.planning.choices import Plan
from peerveil.quantities.base import words_of
from peerveil.record.public_record import Floats
from peerveil.releases.effects import answers
from peerveil.releases.release import DATA_FILES, FILES, REPORT_FILES, Release
from peerveil.reporting.published import CROISSANT

if TYPE_CHECKING:
    from peerveil.app.effects import Written
    from peerveil.private.grouped.promises import AnswerPromise, TrackPromises
    from peerveil.private.grouped.tracks import TrackAnswers
    from peerveil.private.promises import GroupPromises, Promise
    from peerveil.private.tracks import GroupReleases
    from peerveil.releases.effects.answers import Answer

# Data may contain brackets and colons: it is never markup.
out = Console(markup=False, emoji=False, highlight=False)
err = Console(stderr=True, markup=False, emoji=False, highlight=False)

#: The most lines that a command prints without ``--all``.
SCREEN = 40


def print_screenful(*parts: RenderableType, everything: bool, after: int = 0) -> None:
    """Print parts below each other, cut so that they and ``after`` more lines fit on one screen, or in full."""
    lines = out.render_lines(Group(*parts), pad=False)
    room = SCREEN - after
    if everything or len(lines) <= room:
        out.print(*parts, sep="\n")
        return
    kept = [segment for line in lines[: room - 1] for segment in (*line, Segment.line())]
    out.print(Segments(kept), end="")
    out.print(f"… and {len(lines) - room + 1} more lines: --all", style="dim")


def typed(*arguments: str) -> str:
    """Return a command as it can be typed where the user is: the program is called as it was started."""
    started = Path(sys.argv[0])
    program = [str(started)]
    if started.name == "__main__.py":
        program = [sys.executable, "-m", "peerveil"]
    elif (found := shutil.which(started.name)) and Path(found).resolve() == started.resolve():
        program = [started.name]
    return shlex.join([*program, *arguments])


def print_json(document: object, kind: str, *, indent: int | None = 1) -> None:
    """Print a document as JSON, in ASCII so that every encoding of stdout can represent it.

    ``kind`` names its schema (:mod:`peerveil.app.schemas`); tests compare every document with it.
    """
    sys.stdout.write(json.dumps(document, indent=indent, allow_nan=False) + "\n")


def report_warnings(messages: Iterable[Warning]) -> None:
    """Print warnings of the library on stderr, one line each."""
    for message in messages:
        err.print(f"peerveil: warning: {spelled(message, option)}", soft_wrap=True)


def report_no_ledger(ledger: str | None) -> None:
    """Print on stderr, if there is no ledger, that nothing adds up the budgets of several releases."""
    if ledger is None:
        err.print(
            "peerveil: warning: no ledger is charged. Releases of the same reviews together reveal more than each "
            "alone; to keep account of them: peerveil ledger open, then --ledger",
            soft_wrap=True,
        )


def report_unsigned(signed: int) -> None:
    """Print on stderr that signatures were removed because their releases were replaced."""
    if signed:
        removed = "the signature of the replaced release was" if signed == 1 else f"{signed} signatures were"
        err.print(f"peerveil: {removed} removed; sign again with: peerveil sign", soft_wrap=True)


def report_release(
    release: Release,
    output: str,
    *,
    as_json: bool,
    everything: bool = False,
    report: bool = True,
    refined: bool = False,
    left: Iterable[str] = (),
) -> None:
    """Print what was released, and where it was written; what was only ``refined`` was charged before.

    ``left`` says what is left of the budgets that were charged.
    """
    files = [str(Path(output) / name) for name in (FILES if report else DATA_FILES)]
    with after_writing(output):
        if as_json:
            facts = {"folder": output, "files": files, "quantity": release.quantity, "mechanism": release.mechanism}
            facts |= {"estimator": release.estimator, "accuracy": PROMISES[release.estimator]}
            print_json(facts | _facts(release) | {"notes": list(release.notes), "charge": release.charge}, "release")
            return
        out.print(release_panel(release, everything=everything))
        main = [file for file in files if Path(file).name in (*DATA_FILES, REPORT_FILES[0])]
        out.print(f"Written: {', '.join(main)}", soft_wrap=True)
        if not everything:
            out.print(f"The promise and its limits in full: {'report.html, or ' if report else ''}--all", style="dim")
        if release.charge is not None and not refined:
            out.print(f"Charged to the ledger as release {release.charge}.")
            for words in left:
                out.print(words, soft_wrap=True)


def report_answer(
    released: Written[Answer], output: str, told: Mapping[str, object], kind: str, *, ledger: str | None, as_json: bool
) -> None:
    """Print an answer about groups of reviewers, and where it was written; as JSON of a kind, what is ``told``."""
    report_warnings(released.warnings)
    for remark in released.remarks:
        sys.stderr.write(f"peerveil: {remark}\n")
    report_no_ledger(ledger)
    if released.tracks is not None:
        _report_tracks(released.tracks, output, released.folders, as_json=as_json)
        return
    made = released.answer
    files = [str(Path(output) / name) for name in answers.FILES]
    with after_writing(output):
        if as_json:
            facts: dict[str, object] = {"folder": output, "files": files, **told}
            print_json(facts | {"guarantee": made.guarantee.summary, "charge": made.charge}, kind)
            return
        out.print(facts_table(made.facts()))
        out.print(f"Written: {', '.join(file for file in files if Path(file).name != CROISSANT)}", soft_wrap=True)
        if made.charge is not None:
            out.print(f"Charged to the ledger as release {made.charge}.")


def _report_tracks(made: TrackAnswers[Answer], output: str, folders: Mapping[str, str], *, as_json: bool) -> None:
    """Print what was released of each group of papers, and the joint guarantee."""
    first = next(iter(made.answers.values()))
    with after_writing(output):
        if as_json:
            groups = [
                {"group": name, "folder": folders[name], "facts": dict(answer.facts())}
                for name, answer in made.answers.items()
            ]
            document = {"folder": output, "groups": groups, "guarantee": made.guarantee.summary}
            print_json(document | {"charge": first.charge}, "answer-groups")
            return
        for name, answer in made.answers.items():
            told = [(fact, words) for fact, words in answer.facts() if fact not in ("meaning", "that is", "note")]
            out.print(Text(name, style="bold"), facts_table(told), sep="\n")
        out.print(facts_table([("meaning", first.statements()[-1]), ("all groups", made.guarantee.summary)]))
        out.print(f"Written: a folder for each group in {output}", soft_wrap=True)
        if first.charge is not None:
            out.print(f"Charged to the ledger as release {first.charge}.")


def _facts(release: Release) -> dict[str, object]:
    expected = release.outlook.expected_rmse if release.outlook else None
    verdict = release.verdict.to_document() if release.verdict else None
    findings = [finding.to_document() for finding in release.findings]
    facts = {"reviewers": release.reviewers, "guarantee": release.guarantee.summary, "expected_rmse": expected}
    return facts | {"verdict": verdict, "caution": release.caution, "findings": findings}


def report_promise(
    promised: Promise | GroupPromises | AnswerPromise | TrackPromises,
    *,
    as_json: bool,
    everything: bool = False,
    answer: str = "effect",
) -> None:
    """Print what a release would state, cost and achieve; ``answer`` is what an answer is called."""
    if as_json:
        kind = "release-promises" if hasattr(promised, "promises") else "release-promise"
        named = f"{answer}-promise"
        kind = named if hasattr(promised, "plan") else "answer-promises" if hasattr(promised, "plans") else kind
        print_json({"drawn": False, "charged": False} | promised.to_document(), kind)
        return
    parts: list[RenderableType] = [Text("Dry run: nothing was drawn, charged or written.", style="bold"), ""]
    if groups := getattr(promised, "promises", {}):
        rows = []
        for name, part in groups.items():
            word = "" if part.verdict is None else part.verdict.word
            rows.append((name, str(part.reviewers), part.accuracy, word, part.guarantee.summary))
        parts += [rows_table(("group", "reviewers", "expected error", "verdict", "claim"), rows), ""]
    print_screenful(*parts, facts_table(promised.facts()), everything=everything)


def report_groups(
    groups: GroupReleases,
    output: str,
    folders: dict[str, str],
    *,
    as_json: bool,
    everything: bool = False,
    left: Iterable[str] = (),
) -> None:
    """Print what was released of each group, the joint guarantee, what was charged, and what is ``left``."""
    facts = {name: _facts(release) for name, release in groups.releases.items()}
    with after_writing(output):
        if as_json:
            listed = [{"group": name, "folder": folders[name], **fact} for name, fact in facts.items()]
            document = {"folder": output, "groups": listed, "guarantee": groups.guarantee.summary}
            print_json(document, "release-groups")
            return
        rows = []
        for name, fact in facts.items():
            error = "" if fact["expected_rmse"] is None else f"{fact['expected_rmse']:.3g}"
            verdict = groups.releases[name].verdict
            word = "" if verdict is None else verdict.word
            rows.append((name, str(fact["reviewers"]), error, word, folders[name], str(fact["guarantee"])))
        joint = Text.assemble(
            "\n", (f"All groups together: {groups.guarantee.summary}", "bold"), f"\n{groups.guarantee.promise}"
        )
        table = rows_table(("group", "reviewers", "expected error", "verdict", "folder", "claim"), rows)
        print_screenful(table, everything=everything, after=len(out.render_lines(joint)))
        out.print(joint)
        out.print(f"Written: a folder for each group in {output}", soft_wrap=True)
        charge = next(release.charge for release in groups.releases.values())
        if charge is not None:
            out.print(f"Charged to the ledger as release {charge}.")
            for words in left:
                out.print(words, soft_wrap=True)


_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int = 32) -> str:
    """Return a bar for a share of the width, accurate to an eighth of a character.

    >>> bar(0.5, width=4)
    '██'
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).strip()


def histogram(values: Floats, bins: int = 8) -> Table:
    """Return a histogram of the means."""
    low, high = float(values[0]), float(values[-1])
    if low == high:
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(values, bins=bins, range=(low, high))
    dim = Column(justify="right", style="dim", no_wrap=True)
    table = Table(dim, Column(no_wrap=True), dim.copy(), box=None, show_header=False, pad_edge=False)
    for count, left, right in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        table.add_row(f"{left:.2f} to {right:.2f}", Text(bar(count / counts.max()), style="cyan"), str(count))
    return table


class _Fact(NamedTuple):
    """A row of a panel; if they do not all fit on one screen, those with the highest ``rank`` are left out."""

    rank: int
    name: str
    value: str | Text


def release_panel(release: Release, *, everything: bool = False) -> Panel:
    """Return a histogram of the released means, and the claim and other facts as far as they fit on one screen."""
    number = words_of(release.quantity).number
    title = Text.assemble((release.quantity, "bold"), f": reviewers by their released {number}")
    facts = _release_facts(release)
    while True:
        rows = Group(histogram(release.values), Text(), facts_table((fact.name, fact.value) for fact in facts))
        panel = Panel(rows, title=title, title_align="left")
        last = max(facts, key=lambda fact: fact.rank)
        if everything or last.rank == 0 or len(out.render_lines(panel)) <= SCREEN - _BELOW:
            return panel
        facts.remove(last)


#: Lines printed below the panel of a release.
_BELOW = 3


def _release_facts(release: Release) -> list[_Fact]:
    """Return the facts about a release in the order in which they are shown."""
    loads, outlook, verdict = release.loads, release.outlook, release.verdict
    findings = [
        _Fact(4 + place if place else 0, "" if place else "findings", finding.sentence)
        for place, finding in enumerate(release.findings)
    ]
    return [
        *findings,
        *([_Fact(0, "verdict", Text(verdict.sentence, style="bold"))] if verdict else []),
        *([_Fact(0, "caution", release.caution)] if release.caution else []),
        *([_Fact(1, "expected error", release.error_summary)] if outlook else []),
        _Fact(1, "accuracy", f"{PROMISES[release.estimator]} (estimator {release.estimator})"),
        *(_Fact(2, "note", note) for note in release.notes),
        _Fact(0, "claim", Text(release.guarantee.summary, style="bold")),
        *([_Fact(0, "that is", release.human)] if release.human else []),
        *(_Fact(1, "series", claim.summary) for claim in release.series),
        _Fact(12 if release.human else 0, "promise", release.promise),
        _Fact(11, "limits", release.not_protected),
        _Fact(3, "record", f"{release.papers} papers, {loads.reviews} reviews, {loads.reviewers} reviewers"),
        _Fact(3, "loads", loads.brief()),
        _Fact(10, "public", release.public),
        *([_Fact(13, "assuming", outlook.assumption)] if outlook else []),
    ]


def facts_table(facts: Iterable[tuple[str, object]]) -> Table:
    """Return a table of names and values, one row each."""
    table = Table.grid(Column(style="dim", no_wrap=True), Column(), padding=(0, 2))
    for name, value in facts:
        text = "; ".join(map(str, value)) or "none" if isinstance(value, list) else value
        table.add_row(name, text if isinstance(text, Text) else str(text))
    return table


def heading(name: str, most: int = 40) -> str:
    r"""Return the name of a column as a terminal may show it: in one line, cut, and without control characters.

    >>> heading("Final\x1b[2J  rating")
    'Final?[2J rating'
    """
    shown = "".join(character if character.isprintable() else "?" for character in " ".join(name.split()))
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


#: Columns whose cells have at most this many characters are not wrapped.
_UNWRAPPED = 12


def rows_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """Return a table with column names; nothing is cut off, however narrow the terminal."""
    table = Table(box=None, pad_edge=False)
    cells = [tuple(row) for row in rows]
    for index, column in enumerate(columns):
        short = all(len(cell) <= _UNWRAPPED for cell in (column, *(row[index] for row in cells)))
        table.add_column(column, overflow="fold", no_wrap=short, min_width=1)
    for row in cells:
        table.add_row(*row)
    return table


def error_table(errors: dict[str, float]) -> Table:
    """Return a table of root mean squared errors, with bars on a logarithmic scale."""
    table = Table("published", Column("error", justify="right"), "(logarithmic)", box=None, pad_edge=False)
    logs = {name: np.log10(max(value, 1e-12)) for name, value in errors.items()}
    low, high = min(logs.values()) - 0.5, max(logs.values())
    for name, value in errors.items():
        table.add_row(name, f"{value:.3g}", Text(bar((logs[name] - low) / (high - low), 24), style="magenta"))
    return table


def plan_columns(plan: Plan) -> tuple[str, ...]:
    """Return the columns of a plan's table."""
    return ("", "mechanism", "estimator", f"error of {words_of(plan.quantity).a_number}", "worst decile", "by leniency")


def plan_rows(plan: Plan) -> dict[str, list[list[str]]]:
    """Return the choices of each budget, one row each: > marks recommended ones, * weaker guarantees."""
    recommended = set(plan.recommended)
    rows: dict[str, list[list[str]]] = {}
    for choice in plan.choices:
        budget = f"epsilon {choice.epsilon:g}" + (f", delta {choice.delta:g}" if choice.delta else "")
        row = [
            ">" if choice in recommended else "",
            choice.title,
            choice.estimator + ("" if choice.guaranteed else " *"),
            _with_error(choice.rmse, choice.rmse_error),
            _with_error(choice.decile, choice.decile_error),
            f"{choice.rmse_least:.2g} to {choice.rmse_most:.2g}",
        ]
        rows.setdefault(budget, []).append(row)
    return rows


def _with_error(value: float, error: float) -> str:
    """A number with its standard error, which a single draw does not give."""
    return f"{value:.3g} ± {error:.1g}" if np.isfinite(error) else f"{value:.3g} (one draw)"
