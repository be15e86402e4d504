"""Pooling of releases into a prior, and reading of the prior's file. Published data only."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from peerveil.errors import FileError, InputError
from peerveil.inference.family import model_of
from peerveil.inference.pooling import MODEL, MOST, Earlier, PooledPrior
from peerveil.inference.pooling.opinions import Tails, Within
from peerveil.releases.documents import document_digest, interpreted, parse_json
from peerveil.releases.release import Release
from peerveil.tables.opening import read_text

#: The largest file of a prior, in characters, and the tolerance of its stated probabilities.
_LARGEST, _TOLERANCE = 1_000_000, 1e-6

_KEYS = {"kind", "model", "quantity", "releases", "chances", "digest"}


def pool(releases: Iterable[Release | str | os.PathLike[str]]) -> PooledPrior:
    """Return the prior that earlier releases give for the next one of their kind.

    The releases must be of the same quantity. Their scales, mechanisms, budgets and platforms may differ: what is
    pooled is how far reviewers differ relative to the spread of scores. Two releases of one public record enter as one
    conference, the more precise of both. Pooling costs no privacy: it uses what is published alone.

    Args:
        releases: releases, their folders, or their release.json.

    >>> import peerveil as pv
    >>> years = [pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, k]], load=2) for k in (1, 2)]
    >>> made = [pv.refine([1.0, 2.5, 3.0, 4.5], each, mechanism=pv.Laplace(scale=1.0)) for each in years]
    >>> pv.pool(made)
    PooledPrior(weights of 2 conferences)
    """
    given = [each if isinstance(each, Release) else Release.load(each) for each in releases]
    if not given:
        raise InputError("give at least one earlier release to pool")
    quantities = sorted({each.quantity for each in given})
    if len(quantities) > 1:
        raise InputError(
            f"releases of {' and of '.join(quantities)} cannot be pooled: how far reviewers differ in one quantity "
            "says little about another; pool releases of the same quantity"
        )
    best: dict[str, Release] = {}
    for each in given:
        other = best.get(each.record_digest)
        if other is None or _precision(each) > _precision(other):
            best[each.record_digest] = each
    if len(best) > MOST:
        raise InputError(f"at most {MOST} releases can be pooled, got {len(best)}")
    return PooledPrior(quantity=quantities[0], releases=tuple(_earlier(each) for each in best.values()))


def _precision(release: Release) -> float:
    return -np.inf if release.outlook is None else -release.outlook.expected_rmse


def _earlier(release: Release) -> Earlier:
    """A release as a prior holds it."""
    if not release.intact:
        raise InputError("a release.json was changed after it was written, so it is not pooled; verify it first")
    about = release.terms.about
    name = " ".join(str(word) for word in (about.conference, about.year) if word is not None) or about.title or ""
    if release.evidence is None or model_of(release.software) != MODEL:
        raise InputError(
            f"the release {name or 'of ' + release.created.date().isoformat()} does not hold what pooling needs: it "
            "was made by an earlier version, or the distribution of its noise is unknown; refine it with its public "
            "record, and pool the result"
        )
    digest = document_digest(_document(release))
    shown: dict[str, Any] = {name: getattr(release, name) for name in ("evidence", "shapes", "within", "tails")}
    return Earlier(name=name[:200], record=release.record_digest, release=digest, **shown)


def _document(release: Release) -> dict[str, Any]:
    document: dict[str, Any] = parse_json(release.to_json())
    return document


def read_prior(path: str | os.PathLike[str]) -> PooledPrior:
    """Return the pooled prior in a file that :meth:`PooledPrior.save` wrote.

    A file can say no more than earlier releases could: it holds at most 100 of them, each with finite evidence on the
    model's grid, and its probabilities must follow from these.

    Raises:
        FileError: if the file is not such a prior, or was changed.

    >>> import tempfile
    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> prior = pv.pool([pv.refine([1.0, 2.5, 3.0, 4.5], weights, mechanism=pv.Laplace(scale=1.0))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pv.read_prior(prior.save(f"{folder}/prior.json")).digest == prior.digest
    True
    """
    name, text = read_text(path)
    document = parse_json(text, name=name) if len(text) <= _LARGEST else None
    if not isinstance(document, dict) or document.get("kind") != "prior" or document.keys() != _KEYS:
        raise FileError("is not a pooled prior; peerveil pool writes one", file=name)
    if type(document["model"]) is not int or document["model"] != MODEL:
        raise FileError(f"is a prior of another model than {MODEL}; pool the releases again", file=name)
    return interpreted(_from_document, document, name)


Stated = TypeVar("Stated", Within, Tails)


def _stated(kind: type[Stated], numbers: object) -> Stated | None:
    """Numbers with their errors from JSON."""
    if numbers is None:
        return None
    given = numbers if isinstance(numbers, list) else []
    if len(given) != len(fields(kind)) or not all(type(number) in (int, float) for number in given):
        raise InputError(f"{kind.__name__.lower()} must be null, or numbers, each with its standard error")
    return kind(*given)


def _check_numbers(value: object, name: str) -> None:
    """Refuse texts, true and false in lists of JSON numbers, which arrays would take for numbers."""
    if isinstance(value, list):
        for each in value:
            _check_numbers(each, name)
    elif type(value) not in (int, float):
        raise InputError(f"{name} must be numbers")


def _from_document(document: dict[str, Any]) -> PooledPrior:
    releases = document["releases"]
    if not isinstance(releases, list) or not all(isinstance(each, dict) for each in releases[: MOST + 1]):
        raise InputError("releases must be a list of pooled releases")
    if len(releases) > MOST:
        raise InputError(f"it holds more than {MOST} releases")
    names = ("name", "record", "release", "evidence", "shapes", "within", "tails")
    if any(each.keys() != set(names) for each in releases):
        raise InputError(f"each release must have {', '.join(names)}")
    for each in releases:
        _check_numbers(each["evidence"], "evidence")
        _check_numbers(each["shapes"] or [], "shapes")
    _check_numbers(document["chances"], "chances")
    earlier = [
        Earlier(**each | {"within": _stated(Within, each["within"]), "tails": _stated(Tails, each["tails"])})
        for each in releases
    ]
    prior = PooledPrior(quantity=document["quantity"], releases=tuple(earlier))
    try:
        stated = np.array(document["chances"], dtype=np.float64)
    except (ValueError, OverflowError):  # rows of different lengths, or numbers that are too large
        stated = np.empty(0)
    if stated.shape != prior.chances.shape or not np.allclose(stated, prior.chances, rtol=0, atol=_TOLERANCE):
        raise InputError("its probabilities are not those that its releases give; the file was changed")
    if document["digest"] != prior.digest:
        raise InputError("its digest differs; the file was changed")
    return prior
