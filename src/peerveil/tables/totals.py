"""Rows of totals that people put below a table: sums, means and counts."""

from __future__ import annotations

from dataclasses import replace

from peerveil.tables.headings import plain
from peerveil.tables.table import BLANKS, Table

#: What such rows are called in several languages.
WORDS = {
    plain(word)
    for word in (
        *("total", "totals", "grand total", "sum", "average", "averages", "avg", "mean", "means", "median", "count"),
        *("average score", "mean score", "total score", "std", "std dev", "standard deviation", "minimum", "maximum"),
        *("Summe", "gesamt", "Gesamtsumme", "Mittelwert", "Durchschnitt", "Schnitt", "Anzahl", "moyenne", "somme"),
        *("promedio", "suma", "media", "média", "soma", "totale", "somma", "gemiddelde", "totaal", "medel", "summa"),
        *("合计", "总计", "平均", "平均值", "合計", "総計", "итого", "всего", "среднее", "합계", "평균"),
    )
}


def without_totals(table: Table, paper: str, reviewer: str | None = None) -> Table:
    """Return a table without the rows of totals at its end, with a notice.

    Such a row is called so in the column of papers, and nobody is its reviewer; or it names neither a paper nor a
    reviewer. A row that may be somebody's review is never left out. In a table of groups, the column of groups takes
    the place of that of reviewers.
    """
    papers = table.cells[paper].tail(_MOST).str.strip_chars(BLANKS).to_list()
    people = (
        [""] * len(papers) if reviewer is None else table.cells[reviewer].tail(_MOST).str.strip_chars(BLANKS).to_list()
    )
    count = 0
    for name, person in zip(reversed(papers), reversed(people), strict=True):
        called = plain(name) in WORDS and not person
        nobodys = reviewer is not None and not name and (not person or plain(person) in WORDS)
        if not (called or nobodys):
            break
        count += 1
    if count in (0, table.rows):
        return table
    lines = [*table.lines[-count:]]
    which = f"line {lines[0]}, a row" if count == 1 else f"lines {lines[0]} to {lines[-1]}, rows"
    notice = f"{which} of totals below the reviews, {'was' if count == 1 else 'were'} left out"
    kept = replace(table, cells=table.cells.head(table.rows - count), lines=table.lines[:-count])
    return replace(kept, notices=(*table.notices, notice))


# Rows at the end that are looked at.
_MOST = 10
