"""Opening a budget of the ledger, on its own page or with a promise."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from peerveil.app.ledger import open_budget
from peerveil.errors import InputError, LedgerError
from peerveil.web.cases import number
from peerveil.web.labels import Problem
from peerveil.web.page import Page, need

_MISSING = {"dataset": "Give the data set a name.", "epsilon": "Give the total budget in epsilon."}


async def try_to_open(page: Page, form: Mapping[str, str], *, unit: str) -> Problem | None:
    """Open the budget of a form, in a new ledger if there is none; return what is wrong with the form, if anything."""
    need(page.ledger, "start the page with a ledger first")
    for name, words in _MISSING.items():
        if not form.get(name, "").strip():
            return Problem(words, name)
    try:
        amounts = {name: number(form, name) for name in ("epsilon", "delta")}
        await asyncio.to_thread(open_budget, str(page.ledger), form["dataset"].strip(), unit, **amounts)
    except (InputError, LedgerError) as error:
        return Problem.of(error)
    return None
