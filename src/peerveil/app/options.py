"""Options shared by several actions, as users write them. Imports nothing heavy, so that ``--help`` is fast."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

from peerveil.support.discovery import declared

T = TypeVar("T")

#: The labels of generic tables, by the name of their format.
TABLES = {"csv": "CSV", "tsv": "TSV", "parquet": "Parquet", "jsonl": "JSON Lines", "json": "JSON"}
TABLES |= {"xlsx": "Excel (.xlsx)", "xls": "Excel (.xls)", "ods": "OpenDocument (.ods)"}


@dataclass(frozen=True)
class NoiseOptions:
    """The mechanism, and its noise by budget or by scale."""

    mechanism: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    omega: float | None = None
    noise_scale: float | None = None
    noise_bound: float | None = None
    bins: int | None = None


class _Group:
    @property
    def given(self) -> bool:
        """Whether any of these options is given."""
        return bool(changed(self))


@dataclass(frozen=True)
class LoadsOptions(_Group):
    """Public information about loads."""

    load: int | None = None
    loads: str | None = None
    reviewers: int | None = None


@dataclass(frozen=True)
class ReadingOptions:
    """Settings for reading a file of reviews."""

    score_scale: str | None = None
    format: str | None = None
    sheet: str | None = None
    encoding: str | None = None
    paper: str | None = None
    reviewer: str | None = None
    score: str | None = None
    criteria: str | None = None
    missing_criteria: str = "refuse"
    missing_score: str | None = None
    symbols: str | None = None
    person: str | None = None
    ids: str | None = None
    people: str | None = None
    review_name: str | None = None
    only: list[str] | None = None
    leave_out: list[str] | None = None
    visible_column: list[str] | None = None
    merge_names: bool = False
    attributes: str | None = None
    committee: str | None = None
    mapping: str | None = None


@dataclass(frozen=True)
class PublicOptions:
    """Settings for reading and weighing a file of public scores."""

    lone: str = "refuse"
    score_scale: str | None = None
    sheet: str | None = None
    encoding: str | None = None
    paper: str | None = None
    ratings: str | None = None
    criteria: str | None = None
    missing_criteria: str = "refuse"
    only: list[str] | None = None
    leave_out: list[str] | None = None
    drop_copies: bool = False


@dataclass(frozen=True)
class ReleaseOptions:
    """Settings of a release other than its noise."""

    public: str | None = None
    quantity: str = "ratings"
    statistic: str = "mean"
    share: str | None = None
    weight: str | None = None
    unit: str = "reviewer"
    dataset: str | None = None
    region: str = "tight"
    estimator: str | None = None
    lone: str = "refuse"
    declare_kept: bool = False
    accept_float_noise: bool = False
    prior: str | None = None
    public_paper: str | None = None
    public_ratings: str | None = None
    public_sheet: str | None = None
    public_encoding: str | None = None
    licence: str | None = None
    citation: str | None = None
    title: str | None = None
    conference: str | None = None
    year: int | None = None
    author: list[str] | None = None
    contact: str | None = None
    url: str | None = None


@dataclass(frozen=True)
class PublishedOptions:
    """The columns of a file of public scores, and what a report says about its publishers."""

    public_paper: str | None = None
    public_ratings: str | None = None
    public_sheet: str | None = None
    public_encoding: str | None = None
    licence: str | None = None
    citation: str | None = None
    title: str | None = None
    conference: str | None = None
    year: int | None = None
    author: list[str] | None = None
    contact: str | None = None
    url: str | None = None


@dataclass(frozen=True)
class TrackOptions(_Group):
    """The group of each paper, such as a track or an area."""

    groups: str | None = None
    group_column: str | None = None


def filled(kind: type[T], values: dict[str, Any]) -> T:
    """Return an object of options, including nested groups, from values by option name; ignore other values.

    >>> filled(LoadsOptions, {"load": 4, "epsilon": 1.0})
    LoadsOptions(load=4, loads=None, reviewers=None)
    """
    hints = get_type_hints(kind)
    given: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if is_dataclass(hints[field.name]):
            given[field.name] = filled(hints[field.name], values)
        elif field.name in values and values[field.name] != []:  # a repeatable option that is not given
            given[field.name] = values[field.name]
    return kind(**given)


def changed(options: Any) -> dict[str, Any]:
    """Return the options that differ from their defaults by name, including those of nested groups.

    >>> changed(NoiseOptions(epsilon=1.0))
    {'epsilon': 1.0}
    """
    values: dict[str, Any] = {}
    for field in fields(options):
        value = getattr(options, field.name)
        if is_dataclass(value):
            values |= changed(value)
        elif value != field.default:
            values[field.name] = value
    return values


def format_labels() -> dict[str, str]:
    """Return the label of each format that can be read: of platforms, tables, and readers that users registered.

    The latter are looked up only if the readers' package is loaded, which registering another one requires.
    """
    labels = declared("private.readers") | TABLES
    loaded = sys.modules.get("peerveil.private.readers")
    readers = {} if loaded is None else loaded.READERS
    return labels | {name: getattr(reader, "label", name) for name, reader in readers.items() if name not in labels}
