"""The files of earlier versions under tests/golden: which there are, and how they are read."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peerveil as pv
from peerveil.quantities.functions import QuantityLike
from peerveil.record.tracks import part_of

V1 = Path(__file__).parent / "golden" / "v0.1.0"
V2 = Path(__file__).parent / "golden" / "v0.2.0"


def squares(record: pv.PublicRecord) -> Any:
    """The quantity of one stored release that is a user's own function."""
    return record.score**2


@dataclass(frozen=True)
class Frozen:
    """A stored release: its folder, and how the public file beside it is read."""

    folder: Path
    public: Path
    case: dict[str, Any]
    reading: dict[str, Any]
    papers: list[str] | None
    loads: dict[str, Any]

    @property
    def name(self) -> str:
        return self.folder.relative_to(V1 / "releases").as_posix()

    def release(self) -> pv.Release:
        return pv.Release.load(self.folder)

    def weights(self) -> pv.PublicWeights:
        """The public weights that the release is of."""
        options = {key: self.reading[key] for key in ("criteria", "missing_criteria")}
        scale = (self.reading["scale"][0], self.reading["scale"][1])
        whole = pv.read_public(self.public, scale=scale, load=1, **options)
        record = part_of(whole, self.papers or whole.papers, **self.loads)  # loads among the reviews that were kept
        own: dict[str, QuantityLike] = {"squares": squares}
        quantity = self.case["quantity"]
        return pv.weigh(record, own.get(quantity, quantity), lone=self.reading["lone"])


def _loads(stated: dict[str, Any]) -> dict[str, Any]:
    """A statement about loads, as the library takes it: JSON has neither sets nor numbers as keys."""
    loads = stated["loads"]
    whole = {int(size): count for size, count in loads.items()} if isinstance(loads, dict) else set(loads)
    return stated | {"loads": whole}


def releases_v1() -> list[Frozen]:
    """Every release that version 0.1.0 wrote."""
    return [frozen for place in sorted((V1 / "releases").iterdir()) for frozen in _releases_in(place)]


def _releases_in(place: Path) -> Iterator[Frozen]:
    """The releases of one case: one, or one per track."""
    how = json.loads((place / "how.json").read_text(encoding="utf-8"))
    for one in how["releases"]:
        yield Frozen(
            folder=place / one["folder"],
            public=place / "public.csv",
            case=how["case"],
            reading=how,
            papers=one["papers"],
            loads=_loads(one["loads"]),
        )


def batch_v1(place: Path) -> Path:
    """A copy of the batch that 0.1.0 left unfinished, as if it had run at this place; returns its folder.

    A batch remembers absolute paths, as digests: these are computed anew, the others stay.
    """
    folder = place / "batch"
    shutil.copytree(V1 / "batch", folder)
    for kept in (folder / "out" / ".batch").iterdir():
        state = json.loads(kept.read_text(encoding="utf-8"))
        for key, path in (("file", folder / f"{kept.stem}.csv"), ("ledger", folder / "budgets.db")):
            text = json.dumps([key, str(path)], sort_keys=True)
            state["settings"][key] = hashlib.sha256(text.encode()).hexdigest()[:16]
        kept.write_text(json.dumps(state), encoding="utf-8")
    return folder
