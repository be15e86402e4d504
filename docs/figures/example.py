"""Draw example.svg: where the chain's lower and upper bounds stop in the paper's worked example."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

ROWS = ((0, 0, 0), (0, 0, 0), (0, 0, 0), (1, 2, 3))
LOAD = 3
CELL, LEFT, TOP, GAP = 9, 20, 76, 34
BLUE, ORANGE, INK = "#0072b2", "#c04f00", "#222222"


def tuples() -> dict[Fraction, int]:
    """How many tuples (what one reviewer may hold) have which mean."""
    found: dict[Fraction, int] = {}
    for papers in combinations(ROWS, LOAD):
        for held in product(*papers):
            mean = Fraction(sum(held), LOAD)
            found[mean] = found.get(mean, 0) + 1
    return dict(sorted(found.items()))


def svg() -> str:
    """The picture: a block of tuples for each mean; bounds come from its first and its last."""
    found = tuples()
    columns = 9
    width = 2 * LEFT + len(found) * columns * CELL + (len(found) - 1) * GAP
    height = TOP + 5 * CELL + 56
    said = f"what one reviewer may hold: {sum(found.values())} tuples, in order of their mean"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        "<title>The 108 tuples of the worked example, by mean; each block gives one entry both its bounds</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="26" font-size="13" fill="{INK}">{said}</text>',
    ]
    for block, (mean, count) in enumerate(found.items()):
        x0 = LEFT + block * (columns * CELL + GAP)
        out.append(f'<text x="{x0}" y="{TOP - 18}" font-size="12" fill="{INK}">mean {mean}: {count}</text>')
        for place in range(count):
            line, column = divmod(place, columns)
            fill = BLUE if place == 0 else ORANGE if place == count - 1 else "#dddddd"
            x, y, side = x0 + column * CELL, TOP + line * CELL, CELL - 1
            out.append(f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="{fill}"/>')
        y = TOP + 5 * CELL
        out += [
            f'<text x="{x0}" y="{y}" font-size="12" fill="{BLUE}">first: at least {mean}</text>',
            f'<text x="{x0}" y="{y + 18}" font-size="12" fill="{ORANGE}">last: at most {mean}</text>',
            f'<text x="{x0}" y="{y + 42}" font-size="12" fill="{INK}">entry {block + 1} = {mean}</text>',
        ]
    return "\n".join([*out, "</svg>\n"])


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(svg(), encoding="utf-8")
