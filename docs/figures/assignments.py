"""Draw records.svg (what a chair sees, and what everyone) and neighbours.svg (two assignments that are neighbours)."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
SCORES = {"p": (3, 5), "q": (4, 4), "r": (8, 6)}
#: Who holds each review: for each paper, in the order of its scores.
FIRST = {"p": "AB", "q": "BC", "r": "CA"}
#: A's two reviews are exchanged, one with B and one with C.
SECOND = {"p": "BA", "q": "BC", "r": "AC"}
WIDTH, HEIGHT, STEP, TOP = 640, 300, 64, 84
LEFT, RIGHT, HALF = 52, 252, 330
BLUE, ORANGE, INK = "#0072b2", "#c04f00", "#222222"


def text(x: float, y: float, words: str, size: int = 13, fill: str = INK) -> str:
    """Words at a place."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" text-anchor="middle">{words}</text>'


def means(holders: dict[str, str]) -> dict[str, float]:
    """Each reviewer's mean score."""
    held: dict[str, list[int]] = {}
    for paper, names in holders.items():
        for name, score in zip(names, SCORES[paper], strict=True):
            held.setdefault(name, []).append(score)
    return {name: sum(scores) / len(scores) for name, scores in sorted(held.items())}


def nodes(left: float) -> list[str]:
    """Papers on the left and reviewers on the right."""
    out = []
    for place, (paper, reviewer) in enumerate(zip(SCORES, "ABC", strict=True)):
        y = TOP + STEP * place
        out += [
            f'<rect x="{left + 20:g}" y="{y - 16}" width="32" height="32" rx="3" fill="#e8f1fa" stroke="{BLUE}"/>',
            text(left + LEFT - 16, y + 5, paper),
            f'<circle cx="{left + RIGHT + 16:g}" cy="{y}" r="16" fill="#fbe9dd" stroke="{ORANGE}"/>',
            text(left + RIGHT + 16, y + 5, reviewer),
        ]
    return out


def edges(left: float, holders: dict[str, str] | None, other: dict[str, str] | None = None) -> list[str]:
    """Reviews as lines with scores; dashed if `other` has another holder; stubs if none is known."""
    out = []
    for row, (paper, scores) in enumerate(SCORES.items()):
        for place, score in enumerate(scores):
            x, y = left + LEFT, TOP + STEP * row + 12 * (2 * place - 1)
            way, look = f"{x:g},{y} {x + 70:g},{y}", f'stroke="{INK}"'
            if holders is not None:
                way = f"{x:g},{y} {x + 40:g},{y} {left + RIGHT:g},{TOP + STEP * 'ABC'.index(holders[paper][place])}"
                if other is not None and other[paper][place] != holders[paper][place]:
                    look = f'stroke="{ORANGE}" stroke-width="3" stroke-dasharray="7 4"'
            out += [
                f'<polyline points="{way}" fill="none" {look}/>',
                f'<circle cx="{x + 22:g}" cy="{y}" r="9" fill="white"/>',
                text(x + 22, y + 5, str(score)),
            ]
            if holders is None:
                out.append(text(x + 84, y + 5, "?"))
    return out


def listed(holders: dict[str, str], left: float) -> list[str]:
    """The means below a picture, by reviewer and sorted."""
    found = means(holders)
    middle = left + (LEFT + RIGHT) / 2
    private = ", ".join(f"{name} {mean:g}" for name, mean in found.items())
    return [
        text(middle, HEIGHT - 40, f"means: {private}"),
        text(middle, HEIGHT - 18, f"sorted: {', '.join(f'{mean:g}' for mean in sorted(found.values()))}"),
    ]


def picture(title: str, parts: list[str]) -> str:
    """A whole SVG."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
    return "\n".join(
        [head, f"<title>{title}</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', *parts, "</svg>\n"]
    )


def records() -> str:
    """What is private beside what is public."""
    middle = (LEFT + RIGHT) / 2
    return picture(
        "Private: which reviewer gave which score to which paper. Public: which scores each paper got",
        [
            text(middle, 32, "private: the chair sees the lines", 15, ORANGE),
            *edges(0, FIRST),
            *nodes(0),
            *listed(FIRST, 0),
            text(HALF + middle, 32, "public: everyone sees the scores", 15, BLUE),
            *edges(HALF, None),
            *nodes(HALF),
            text(HALF + middle, HEIGHT - 40, "means: not known"),
        ],
    )


def neighbours() -> str:
    """Two assignments that fit the same public record; what differs is dashed."""
    middle = (LEFT + RIGHT) / 2
    return picture(
        "Two neighbouring assignments: reviewer A's reviews of p and r were exchanged with those of B and C",
        [
            text(middle, 32, "one assignment", 15),
            *edges(0, FIRST, SECOND),
            *nodes(0),
            *listed(FIRST, 0),
            text(HALF + middle, 32, "its neighbour: A exchanged both", 15),
            *edges(HALF, SECOND, FIRST),
            *nodes(HALF),
            *listed(SECOND, HALF),
        ],
    )


if __name__ == "__main__":
    (HERE / "records.svg").write_text(records(), encoding="utf-8")
    (HERE / "neighbours.svg").write_text(neighbours(), encoding="utf-8")
