"""No-break spaces between numbers and their units, so that no line begins with a lone sign or unit."""

from __future__ import annotations

import re

_NO_BREAK = "\N{NO-BREAK SPACE}"

#: Blanks that belong to a number: before its unit, and around the sign of an equation with a symbol or of a comparison.
_BLANKS = re.compile(
    r"(?<=\d) (?=%|(?:points?|times|MB|GB|s)\b)|(?<=\bepsilon) (?=\d|= \d)|(?<=\b(?:delta|sigma)) (?== \d)"
    r"|(?<=\w =) (?=\d)|(?<=\d) (?== \d)|(?<=\brank) (?=\d)"
    r"|(?<=\w) (?=(?:[<>]|&[lg]t;)=? \d)|(?<=[<>]) (?=\d)|(?<=[<>]=) (?=\d)|(?<=&[lg]t;) (?=\d)|(?<=&[lg]t;=) (?=\d)"
)

#: Parts of a page: elements whose text stays as it is, tags, and text.
_PARTS = re.compile(r"<(script|style|pre|textarea|title)\b.*?</\1>|<[^>]*>|[^<]+", re.DOTALL)


#: The ends of an interval in parentheses.
_INTERVAL = re.compile(r"(?:\(|(?<=interval: ))(\S{1,9}(?: %)?) to (\S{1,9}(?: %)?)\)")


def unbroken(text: str) -> str:
    """Return a text in which lines end neither between numbers and their units nor within intervals in parentheses.

    >>> unbroken("At epsilon = 1, the middle 80 % span 3 points in 2026").replace(_NO_BREAK, "~")
    'At epsilon~=~1, the middle 80~% span 3~points in 2026'
    >>> unbroken("28 % (19 to 53 %), or 0.61 (0.48 to 0.82)").replace(_NO_BREAK, "~")
    '28~% (19~to~53~%), or 0.61 (0.48~to~0.82)'
    >>> unbroken("reviews with score >= 6, or &lt; 3").replace(_NO_BREAK, "~")
    'reviews with score~>=~6, or~&lt;~3'
    >>> unbroken("by at most a factor e^1 = 2.72 (90 % interval: 0.58 to 0.75)").replace(_NO_BREAK, "~")
    'by at most a factor e^1~=~2.72 (90~% interval: 0.58~to~0.75)'
    """
    text = _INTERVAL.sub(lambda interval: interval[0].replace(" ", _NO_BREAK), text)
    return _BLANKS.sub(_NO_BREAK, text)


def unbroken_page(html: str) -> str:
    """Return a page whose texts are :func:`unbroken`; tags, scripts, styles and code stay as they are.

    >>> unbroken_page('<p title="5 %">5 %</p><pre>5 %</pre>').replace(_NO_BREAK, "~")
    '<p title="5 %">5~%</p><pre>5 %</pre>'
    """
    return _PARTS.sub(lambda part: part[0] if part[0].startswith("<") else unbroken(part[0]), html)
