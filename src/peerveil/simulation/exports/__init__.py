"""Synthetic exports: what the platforms' files look like, written from invented conferences. Nobody in them exists."""

from __future__ import annotations

from collections.abc import Callable

from peerveil.errors import Argument, InputError
from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports import cmt, easychair, hotcrp, openreview, public
from peerveil.simulation.exports.style import Cast, Style, grades_of, reviews_of

__all__ = ["KINDS", "PRIVATE", "Cast", "Style", "export"]


def export(
    conference: Conference,
    kind: str,
    *,
    cast: Cast | None = None,
    style: Style = Style(),  # noqa: B008 - it cannot change
) -> tuple[str, bytes]:
    """A conference as a platform would export it: the usual name of such a file, and its bytes.

    Papers are numbered from 1, and criteria stand where the platform has them. Besides the conference's reviews the
    file has what real ones have: metareviews, drafts and reviews without a score, where the platform exports such.

    Args:
        conference: the reviews.
        kind: one of :data:`KINDS`.
        cast: who is who; invented by default.
        style: how the text is written.

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
    rows = [
        (p + 1, cast.emails[a], style.score(x), *style.scores(grades))
        for (p, a, x), grades in zip(reviews_of(conference), grades_of(conference), strict=True)
    ]
    return style.csv([("paper", "reviewer", "score", *conference.criteria), *rows])


#: The exports there are: the usual name of each file, and what writes it.
KINDS: dict[str, tuple[str, Callable[[Conference, Cast, Style], bytes]]] = {
    "table": ("reviews.csv", _table),
    "openreview": ("openreview-notes.json", openreview.notes_2),
    "openreview-v1": ("openreview-v1-notes.json", openreview.notes_1),
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

#: Those of them that hold private reviews; the others hold public scores.
PRIVATE = tuple(
    kind for kind in KINDS if kind not in ("public", "public-tsv", "public-lists", "paperlists", "peerread")
)
