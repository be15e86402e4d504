"""Verification of a published release against the public record.

Everything in a release other than its noisy data follows from that data and the public record. It is recomputed here
and compared field by field. The noise is tested against its stated distribution, and a signature is checked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from peerveil.errors import InputError
from peerveil.inference.pooling import PooledPrior
from peerveil.quantities.base import is_known
from peerveil.quantities.weights import PublicWeights, weigh
from peerveil.record.public_record import PublicRecord
from peerveil.releases.checking.files import Opened, file_checks, open_release, other_files
from peerveil.releases.checking.means import release_checks, same_versions
from peerveil.releases.checking.results import Check, RefusedError, Verification, checked, unchecked
from peerveil.releases.effects.answers import Answer, Weights
from peerveil.releases.effects.checks import RENDERED as ANSWER_RENDERED
from peerveil.releases.effects.checks import answer_checks, answer_files
from peerveil.releases.release import Release
from peerveil.releases.signatures import SIGNATURE, signature_beside, signer, trusted_keys
from peerveil.releases.withdrawal import read_mark, withdrawal_checks
from peerveil.reporting.published import CROISSANT

UNCHECKED = (
    "Nobody can check from outside that the private reviews were the true ones, or what was stated to be public in "
    "words. Of the noise only its size is tested."
)
UNSIGNED = "unsigned: authorship not checked"

#: The checks of files that are rendered from the release.json of means.
_RENDERED = ("release.csv", "report.html", "pictures", CROISSANT)


def verify(
    release: Release | Answer | str | os.PathLike[str],
    weights: Weights | PublicRecord | tuple[PublicRecord, PublicRecord] | None,
    *,
    signed_by: str | os.PathLike[str] | None = None,
    prior: PooledPrior | None = None,
) -> Verification:
    """Return the results of checking that a release follows from its noisy vector and the public record.

    Args:
        release: a release of means, of an effect or by an attribute, its folder, or its release.json. The files beside
            a release.json are checked as well.
        weights: public weights of the release's record and quantity, or the public record itself; a pair of them for a
            correlation. Without them, what follows from the record is not checked.
        signed_by: an OpenSSH public key or an allowed_signers file; the release must be signed by one of these keys.
        prior: the pooled prior that the release names; without it, such a release is not verified.

    A result is false if any check fails. Only a file that is missing or not JSON raises an error.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> release = pv.refine([-1.0, 2.5, 2.0, 9.5], weights, mechanism=pv.Laplace(scale=2.0))
    >>> pv.verify(release, weights).verified
    True
    >>> other = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 2]], load=2)
    >>> pv.verify(release, other).failed
    ('record',)
    """
    if isinstance(release, Release | Answer):
        if signed_by is not None:
            raise InputError("signed_by needs the release's folder, because its file is signed; give the folder")
        made = _weighed(weights, release.quantity)
        return Verification(checks=tuple(_all_checks(release, json.loads(release.to_json()), made, prior)))
    keys = None if signed_by is None else trusted_keys(signed_by)
    opened = open_release(release)
    signature = checked("signature", lambda: _signature(opened, keys))
    withdrawn = withdrawal_checks(opened.place, opened.contents)
    if opened.release is None or opened.document is None:
        return Verification(checks=(*withdrawn, opened.schema, signature))
    made = _weighed(weights, opened.release.quantity)
    checks = (opened.schema, *_all_checks(opened.release, opened.document, made, prior))
    return Verification(checks=(*withdrawn, *checks, *_beside(opened, opened.release, checks), signature))


def _weighed(given: Any, quantity: str) -> Weights | None:
    """The public weights that are given, or those of a public record for a quantity."""
    if isinstance(given, tuple) and len(given) == 2:
        return _weighed_one(given[0], quantity), _weighed_one(given[1], quantity)
    return None if given is None else _weighed_one(given, quantity)


def _weighed_one(given: Any, quantity: str) -> PublicWeights:
    if isinstance(given, PublicRecord):
        if not is_known(quantity):
            raise InputError(f"the release is of {quantity!r}, which is no quantity of ours; give its public weights")
        return weigh(given, quantity)
    if not isinstance(given, PublicWeights):
        raise InputError(f"weights must be public weights or a public record, got {type(given).__name__}")
    return given


def _all_checks(
    release: Release | Answer, document: dict[str, Any], weights: Weights | None, prior: PooledPrior | None
) -> Iterator[Check]:
    if isinstance(release, Answer):
        return answer_checks(release, document, weights)
    if isinstance(weights, tuple):
        raise InputError("the release is of one conference; give the public weights of that one")
    return release_checks(release, document, weights, prior)


def _beside(opened: Opened, release: Release | Answer, checks: tuple[Check, ...]) -> Iterator[Check]:
    """Checks of the files beside a release.json."""
    if any(check.result == "fails" for check in checks):
        why = "a check of release.json fails, and this is rendered from it"
        rendered = ANSWER_RENDERED if isinstance(release, Answer) else _RENDERED
        yield from (unchecked(name, why) for name in rendered)
    elif isinstance(release, Answer):
        yield from answer_files(opened.place.parent, release, read_mark(opened.place, opened.contents))
    else:
        mark = read_mark(opened.place, opened.contents)
        yield from file_checks(opened.place.parent, release, same=same_versions(release), mark=mark)
    if opened.place.name == "release.json":
        yield checked("files", lambda: other_files(opened.place.parent))


def _signature(opened: Opened, keys: list[Any] | None) -> Check | str:
    try:
        signature = signature_beside(opened.place)
        if signature is None and keys is None:
            return unchecked("signature", UNSIGNED)
        if signature is None:
            raise RefusedError(f"there is no {SIGNATURE} in the folder, but a signature is required")
        key = signer(opened.contents, signature)
    except InputError as error:  # the package that checks signatures is not installed
        return unchecked("signature", f"there is a signature, which was not checked: {error}")
    signed = f"signed by the key {key.sha256_str()} ({key.algo_name})"
    if keys is None:
        return unchecked("signature", f"{signed}; the owner of the key was not checked")
    if key not in keys:
        raise RefusedError(f"{signed}, which is not among the given keys")
    return f"{signed}, which is among the given keys"
