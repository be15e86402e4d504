"""`peerveil audit`: a mechanism's claim, put to the test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import NoiseOptions, grouped

if TYPE_CHECKING:
    from peerveil.private.audit import Audit, Finding

# ruff: noqa: PLC0415 - commands import what they need when they run


@grouped
def audit(
    *,
    noise: NoiseOptions,
    unit: opt.Unit = "reviewer",
    load: Annotated[int, typer.Option(help="Reviews of each reviewer in the audited records.")] = 2,
    public: Annotated[
        str | None, typer.Option(help="Audit only cases where 'all' scores are public, or 'none'; both by default.")
    ] = None,
    case: Annotated[str, typer.Option(help="Audit one case only, by its name in the table.")] = "all",
    draws: Annotated[
        int | None,
        typer.Option(help="Releases of each of the two records of a case; by default as many as take a few seconds."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="With which all lower bounds are to hold together.")] = 0.99999,
    workers: opt.Workers = None,
    as_json: opt.AsJson = False,
) -> None:
    """Test the claims of a mechanism: release worst-case neighbours many times, and try to tell them apart.

    Exit code 1 if a claim is contradicted.
    """
    from peerveil.cli.show import facts_table, out, print_json
    from peerveil.cli.working import counting
    from peerveil.private.audit import audit as run_audit

    mechanism = noise.chosen_or_auto()
    with counting("Releasing worst-case neighbours") as progress:
        found = run_audit(
            mechanism,
            unit=unit,
            load=load,
            public=public,
            draws=draws,
            confidence=confidence,
            delta=noise.delta,
            case=case,
            workers=workers,
            progress=progress,
        )
    if as_json:
        print_json(_document(found))
    else:
        out.print(_table(found))
        out.print()
        out.print(facts_table(_facts(found)))
    if not found.passed:
        raise typer.Exit(1)


def _document(found: Audit) -> dict[str, Any]:
    """For machines: the worst case, and every case."""
    return {
        "claim": found.guarantee.summary,
        "draws": found.draws,
        "confidence": found.confidence,
        "delta": found.delta,
        "claimed": found.claimed,
        "epsilon": found.epsilon,
        "delta_found": found.delta_found,
        "passed": found.passed,
        "cases": [
            {
                "case": one.case,
                "claim": one.guarantee.summary,
                "draws": one.draws,
                "delta": one.delta,
                "claimed": one.claimed,
                "epsilon": one.epsilon,
                "delta_found": one.delta_found,
                "rho_found": one.rho_found,
                "loss": one.loss,
                "supported": one.supported,
                "noise": one.noise,
                "passed": one.passed,
            }
            for one in found.findings
        ],
    }


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
