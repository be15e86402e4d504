"""Earlier releases of a conference that its chair drops on the page: stored, and pooled into a prior."""

from __future__ import annotations

import shutil
from pathlib import Path

from peerveil.errors import FileError, InputError
from peerveil.inference.pooling import PooledPrior
from peerveil.releases.pooling import pool, read_prior
from peerveil.releases.withdrawal import MARKS
from peerveil.web.cases import Case
from peerveil.web.published import is_prior, is_release, store, title_of

#: The file of the prior in the folder of a case, where no upload can be: names of uploads do not begin with a dot.
PRIOR = ".pooled/prior.json"


def add_earlier(case: Case, file: Path, *, name: str, several: bool) -> str:
    """Add an uploaded file to the earlier releases of a case, pool them, and return their names.

    A file of a prior takes the place of all earlier releases. If ``several`` files were dropped together, those that
    are neither are left out. A file that cannot be pooled changes nothing.
    """
    prior, release = is_prior(file), is_release(file)
    if not (prior or release):
        file.unlink()
        if several:
            return case.pooled
        raise FileError("is neither a release.json, a zip file of a release, nor a prior", file=name)
    folder = case.folder / f"earlier-{len(case.releases) + 1}"
    try:
        if prior:
            return _keep(case, read_prior(file), {})
        store(file, folder, name=name)
        if any((folder / mark).exists() for mark in MARKS):
            raise FileError("was withdrawn, so nothing is learned from it", file=name)
        titles = case.releases | {folder.name: title_of(name, case)}
        return _keep(case, pool(case.folder / each for each in titles), titles)
    except InputError as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, FileError):
            raise FileError(*error.args, file=name) from None  # as its owner knows it
        raise


def forget_earlier(case: Case) -> None:
    """Go on without earlier releases."""
    case.releases, case.pooled = {}, ""
    case.files.pop("prior", None)


def _keep(case: Case, prior: PooledPrior, titles: dict[str, str]) -> str:
    """Write a prior as `peerveil pool` does, and return the names of its releases."""
    file = case.folder / PRIOR
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    prior.save(file)
    case.files["prior"], case.releases = PRIOR, titles
    names = [each.name for each in prior.releases]
    if len(titles) == len(names):  # unless two are of one record
        names = [name or title for name, title in zip(names, titles.values(), strict=True)]
    case.pooled = ", ".join(name or f"release {place}" for place, name in enumerate(names, 1))
    return case.pooled
