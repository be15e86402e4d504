"""Synthetic exports: files in the formats of review platforms, from invented conferences."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from peerveil.errors import Argument, InputError
from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports import cmt, easychair, hotcrp, openreview, public
from peerveil.simulation.exports.style import Cast, Style, reviews_of

__all__ = ["KINDS", "PRIVATE", "Cast", "Style", "export"]


def export(
    conference: Conference,
    kind: str,
    *,
    cast: Cast | None = None,
    style: Style = Style(),  # noqa: B008 - it is immutable
) -> tuple[str, bytes]:
    """Return the usual name and the bytes of a platform's export of a conference.

    Papers are numbered from 1. Like real exports, the file also has metareviews, drafts and reviews without a score, if
    the platform exports them.

    ``kind`` is one of :data:`KINDS`. People are invented by default.

    >>> import numpy as np
    >>> from peerveil.simulation.conferences import synthetic_conference
    >>> conference = synthetic_conference(reviewers=4, load=2, reviews_per_paper=2, rng=np.random.default_rng(0))
    >>> name, data = export(conference, "hotcrp")
    >>> name, data.decode().splitlines()[0]
    ('hotcrp-reviews.csv', 'paper,title,review,reviewername,email,Overall merit,Reviewer expertise,...
    """
    if kind not in KINDS:
        raise InputError(Argument("export"), f" must be one of {', '.join(KINDS)}, got {kind!r}")
    name, write = KINDS[kind]
    data = write(conference, cast or Cast.invent(conference), style)
    return f"{name}.gz" if style.packed and data.startswith(b"\x1f\x8b") else name, data


def _table(conference: Conference, cast: Cast, style: Style) -> bytes:
    rows = [(p + 1, cast.emails[a], *style.scores((x, *grades))) for p, a, x, grades in reviews_of(conference)]
    return style.csv([("paper", "reviewer", "score", *conference.criteria), *rows])


#: For each kind of export, the usual name of its file and the function that writes it.
KINDS: dict[str, tuple[str, Callable[[Conference, Cast, Style], bytes]]] = {
    "table": ("reviews.csv", _table),
    "openreview": ("openreview-notes.json", partial(openreview.notes, version=2)),
    "openreview-v1": ("openreview-v1-notes.json", partial(openreview.notes, version=1)),
    "hotcrp": ("hotcrp-reviews.csv", hotcrp.reviews_csv),
    "hotcrp-scores": ("hotcrp-scores.csv", hotcrp.scores_csv),
    "hotcrp-batch": ("hotcrp-batch.csv", hotcrp.batch_csv),
    "hotcrp-json": ("hotcrp-reviews.json", hotcrp.api_json),
    "hotcrp-rqc": ("hotcrp-rqc.json", hotcrp.rqc_json),
    "easychair": ("easychair-review.csv", easychair.review_csv),
    "easychair-bare": ("easychair-bare.csv", easychair.bare_csv),
    "easychair-zip": ("easychair.zip", easychair.review_zip),
    "cmt": ("cmt-reviews.xls", cmt.workbook),
    "public": ("public.csv", public.rows),
    "public-tsv": ("public.tsv", public.numbered_tsv),
    "public-lists": ("public-lists.csv", public.lists),
    "paperlists": ("paperlists.json", public.paperlists),
    "peerread": ("peerread.json", public.peerread),
}

#: The kinds that hold private reviews; the others hold public scores.
PRIVATE = tuple(KINDS)[: list(KINDS).index("public")]
