"""Reports about groups of reviewers: self-contained HTML pages that run no script, rendered from published data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from peerveil.privacy.bins import Bins
from peerveil.releases.effects.answers import percent
from peerveil.reporting.answer_page import answer_html
from peerveil.reporting.charts import shares_by_group
from peerveil.reporting.charts.intervals import Row, intervals
from peerveil.reporting.charts.look import Picture
from peerveil.reporting.words import quantity_words, reviewers, say

if TYPE_CHECKING:
    from peerveil.inference.effects.crosstabs import GroupEstimate
    from peerveil.releases.effects.crosstabs import Crosstab
    from peerveil.releases.effects.published import Effect

#: The most groups whose medians are told one by one.
_FEW = 2


def effect_chart(effect: Effect) -> Picture:
    """Return the chart of an effect: the difference and its interval."""
    first, second = _names(effect)
    unit = quantity_words(effect.quantity).unit
    low, value, high = (f"{number:.2f}" for number in (effect.low, effect.estimate, effect.high))
    if effect.low <= 0 <= effect.high:
        title = say("title.no_difference", first=first, second=second)
    else:
        way = say("title.higher" if effect.estimate >= 0 else "title.lower")
        size = f"{abs(effect.estimate):.2f}"
        title = say("title.difference", first=first, second=second, size=size, unit=unit, way=way)
    words = say("answer.value", value=value, low=low, high=high)
    return intervals(
        [Row("", effect.estimate, effect.low, effect.high, words)],
        title=title,
        axis=say("chart.axis_difference", first=first, second=second, unit=f" ({unit.strip()})" if unit else ""),
        none=say("chart.no_difference"),
        level=effect.question.level,
    )


def effect_html(effect: Effect) -> str:
    """Return the report of an effect."""
    low, high = (f"{limit:.4g}" for limit in effect.question.limits)
    meaning = quantity_words(effect.quantity).meaning
    weight = say("answer.clipped", meaning=meaning, low=low, high=high)
    return answer_html(
        "effect.html",
        effect,
        effect_chart(effect),
        columns="effect_column",
        findings=[effect.sentence],
        caption=say("answer.caption_effect"),
        made=[(say("answer.weight"), weight), *_made(effect)],
        **_shared(effect),
        unit=quantity_words(effect.quantity).unit,
        numbers=[f"{number:.3f}" for number in (effect.low, effect.estimate, effect.high)],
        sizes=[f"{size:,.0f}" for size in effect.estimated.sizes],
    )


def crosstab_chart(release: Crosstab) -> Picture:
    """Return the chart of a release by an attribute: the shares of each group."""
    return shares_by_group(release.rows(), release.quantity, title=_medians(release), level=release.question.level)


def crosstab_html(release: Crosstab) -> str:
    """Return the report of a release by an attribute."""
    bins, words = release.bins, quantity_words(release.quantity)
    groups = [
        {
            "name": name,
            "shares": [
                f"{100 * share:.1f} ({100 * low:.1f} to {100 * high:.1f})"
                for share, low, high in zip(one.shares, one.low, one.high, strict=True)
            ],
        }
        for name, one in zip(release.groups, release.estimated, strict=True)
    ]
    noise = say("answer.noise_counts", deviation=f"{math.sqrt(2) * release.noise_scale:.3g}")
    return answer_html(
        "crosstab.html",
        release,
        crosstab_chart(release),
        columns="crosstab_column",
        findings=[f"{_medians(release)}.", *(_size(release, *each) for each in _estimates(release))],
        caption=say("answer.caption_groups"),
        made=[(say("answer.counted"), words.meaning), (say("answer.noise"), noise), *_made(release)],
        **_shared(release),
        groups=groups,
        axis=words.short_axis,
        bins=[_range(bins, place) for place in range(bins.number)],
    )


def _names(effect: Effect) -> tuple[str, str]:
    """Both groups, as charts name them."""
    return effect.labels if effect.question.pairs else effect.groups


def _estimates(release: Crosstab) -> list[tuple[str, GroupEstimate]]:
    return list(zip(release.groups, release.estimated, strict=True))


def _size(release: Crosstab, group: str, one: GroupEstimate) -> str:
    """The size of a group in words."""
    key = "answer.size_noisy" if release.question.sizes is None else "answer.size_public"
    sizes = {"low": f"{one.size_low:,.0f}", "high": f"{one.size_high:,.0f}"}
    return say(key, group=group, size=f"{one.size:,.0f}", **sizes)


def _medians(release: Crosstab) -> str:
    """The range in which half of each group's reviewers are reached."""
    places = {
        name: int(np.searchsorted(np.cumsum(one.shares), 0.5 * sum(one.shares))) for name, one in _estimates(release)
    }
    bins = release.bins
    if len(places) > _FEW:
        least, most = min(places.values()), max(places.values())
        ends = {"least": f"{float(bins.low[least]):.3g}", "most": f"{float(bins.high[most]):.3g}"}
        return say("title.medians_of_many", **ends)
    if len(set(places.values())) == 1:
        return say("title.same_median", span=_range(bins, next(iter(places.values()))))
    each = [say("title.median", span=_range(bins, place), name=name) for name, place in places.items()]
    return say("title.medians", medians=", ".join(each))


def _range(bins: Bins, place: int) -> str:
    """The ends of a bin, or its only value."""
    low, high = (f"{float(end[place]):.3g}" for end in (bins.low, bins.high))
    return low if low == high else say("report.between", low=low, high=high)


def _made(answer: Effect | Crosstab) -> list[tuple[str, str]]:
    """How the release was made, as names and words."""
    facts = {"papers": f"{answer.papers:,}", "reviews": f"{answer.loads.reviews:,}", "loads": answer.loads.describe()}
    return [(say("answer.conference"), say("answer.conference_is", **facts))]


def _shared(answer: Effect | Crosstab) -> dict[str, Any]:
    """What reports of both kinds show."""
    return {
        "lead": say("answer.lead_groups", reviewers=reviewers(answer.loads.reviewers)),
        "counts": [
            (say("report.reviewers"), f"{answer.loads.reviewers:,}"),
            (say("report.papers"), f"{answer.papers:,}"),
            (say("report.reviews"), f"{answer.loads.reviews:,}"),
        ],
        "records": [(say("report.record"), answer.record_digest)],
        "level": percent(answer.question.level),
    }
