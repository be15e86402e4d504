"""`peerveil audit`: a mechanism's claim, put to the test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from peerveil.app.requests import AuditRequest
from peerveil.cli import options as opt

if TYPE_CHECKING:
    from peerveil.private.audit import Audit, Finding

# ruff: noqa: PLC0415 - commands import what they need when they run


@opt.with_options
def audit(request: AuditRequest, *, as_json: opt.AsJson = False) -> None:
    """Test the claims of a mechanism: release worst-case neighbours many times, and try to tell them apart.

    Exit code 1 if a claim is contradicted.
    """
    from peerveil.app.audit import audit
    from peerveil.cli.show import facts_table, out, print_json
    from peerveil.cli.working import counting

    with counting("Releasing worst-case neighbours") as progress:
        found = audit(request, progress)
    if as_json:
        print_json(_document(found))
    else:
        out.print(_table(found))
        out.print()
        out.print(facts_table(_facts(found)))
    if not found.passed:
        raise typer.Exit(1)


#: What is printed for machines about the audit, and about each case.
_FACTS = ("draws", "confidence", "delta", "claimed", "epsilon", "delta_found", "passed")
_CASE_FACTS = (
    "draws",
    "delta",
    "claimed",
    "epsilon",
    "delta_found",
    "rho_found",
    "loss",
    "supported",
    "noise",
    "passed",
)


def _document(found: Audit) -> dict[str, Any]:
    """The worst case and every case, as JSON has them."""
    cases = [
        {"case": one.case, "claim": one.guarantee.summary}
        | {name: getattr(one, name) for name in (*_CASE_FACTS, "passed")}
        for one in found.findings
    ]
    facts = {name: getattr(found, name) for name in _FACTS}
    return {"claim": found.guarantee.summary, **facts, "cases": cases}


def _table(found: Audit) -> Any:
    from peerveil.cli.show import rows_table

    measure = "epsilon" if found.worst.pure else "rho"
    columns = ("case", f"{measure} claimed", "worst pair", "found", "noise", "verdict")
    return rows_table(columns, [_row(one) for one in found.findings])


def _row(one: Finding) -> tuple[str, ...]:
    numbers = (f"{one.limit:.4g}", f"{one.loss:.4g}", f"{one.found:.3g}")
    return (one.case, *numbers, one.noise or "as stated", "stands" if one.passed else "FALSE")


def _facts(found: Audit) -> dict[str, object]:
    worst = found.worst
    at = f" at delta {worst.delta:g}" if worst.delta else ""
    return {
        "claim": worst.guarantee.summary,
        "worst pair": "the loss between the two records, if the noise is as stated",
        "found": "the loss is at least this, from the releases alone, whatever the noise is; nearest to its claim: "
        f"{worst.case} with epsilon {worst.epsilon:.4g} of {worst.claimed:.6g}{at}",
        "how sure": f"all of it with confidence {found.confidence:g}, from {_releases(found)} releases of each record",
        "result": "the claim stands" if found.passed else "THE CLAIM IS CONTRADICTED",
    }


def _releases(found: Audit) -> str:
    draws = [one.draws for one in found.findings]
    return f"{min(draws)}" if min(draws) == max(draws) else f"{min(draws)} to {max(draws)}"
