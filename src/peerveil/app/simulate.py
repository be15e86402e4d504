"""Simulation sweeps: the paper's experiments, and simulated assignments of a public record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from peerveil.app.messages import refusal
from peerveil.app.parsing import parse_mechanism, parse_numbers
from peerveil.app.reading import public_weights
from peerveil.app.requests import SimulateRequest
from peerveil.errors import Argument, InputError
from peerveil.mechanisms import OWN, Mechanism
from peerveil.planning.rehearsal import Rehearsal
from peerveil.quantities.weights import PublicWeights
from peerveil.reporting.sweep_files import sweep_folder, write_sweep
from peerveil.simulation import experiments
from peerveil.simulation.experiments import EXPERIMENTS, Sweep
from peerveil.support import parallel

#: Title and function of each sweep.
Sweeps = list[tuple[str, Callable[..., Sweep]]]


def simulate(
    request: SimulateRequest, counting: Callable[[str], AbstractContextManager[parallel.Progress]]
) -> Iterator[tuple[Sweep, list[Path]]]:
    """Yield each sweep with its files; ``counting`` opens a progress display. Unfinished sweeps are resumed."""
    settings, sweeps = _of_paper(request) if request.public is None else _of_record(request, request.public)
    folder = Path(request.output)
    kept = sweep_folder(folder, settings, overwrite=request.overwrite)
    with parallel.cluster(request.cluster) as executor:
        for title, run in sweeps:
            with counting(title) as progress:
                sweep = run(executor=executor, workers=request.workers, keep=kept, progress=progress)
            yield sweep, write_sweep(sweep, folder)


def _of_paper(request: SimulateRequest) -> tuple[dict[str, object], Sweeps]:
    """Return the settings that must be the same when a sweep is resumed, and the paper's sweeps."""
    name = request.experiment
    if name is None:
        raise refusal("name an experiment (or 'all'), or a real record with {public}")
    if request.epsilon is not None or request.mechanism != SimulateRequest.mechanism or request.bins is not None:
        raise refusal("{epsilon}, {mechanism} and {bins} go with {public}: the paper's experiments have Laplace noise")
    if name not in (*EXPERIMENTS, "all"):
        raise InputError(Argument("experiment"), f" must be 'all' or one of {', '.join(EXPERIMENTS)}, got {name!r}")
    settings: dict[str, Any] = {
        "draws": request.draws or 100,
        "methods": _methods(request),
        "scale": request.noise_scale or 1.0,
        "seed": request.seed,
    }
    run = partial(experiments.simulate, **settings)
    names = EXPERIMENTS if name == "all" else [name]
    return settings, [(EXPERIMENTS[name].title, partial(run, name)) for name in names]


def _of_record(request: SimulateRequest, public: str) -> tuple[dict[str, object], Sweeps]:
    """Return the settings that must be the same when a sweep is resumed, and the sweep of a public record."""
    if request.experiment is not None:
        raise refusal("name an experiment or a real record with {public}, not both")
    weights = public_weights(public, request.scores, request.loads, request.quantity)
    mechanism, name = _mechanism(weights, request), Path(public).stem
    shared: dict[str, Any] = {
        "leniency": parse_numbers(request.leniency, "leniency"),
        "draws": request.draws or 20,
        "methods": _methods(request),
        "seed": request.seed,
    }
    settings = shared | {"record": weights.digest(), "mechanism": mechanism.describe()}
    run = partial(experiments.simulate_record, weights, mechanism=mechanism, name=name, **shared)
    return settings, [(name, run)]


def _methods(request: SimulateRequest) -> tuple[str, ...]:
    return tuple(method.strip() for method in request.methods.split(",") if method.strip())


def _mechanism(weights: PublicWeights, request: SimulateRequest) -> Mechanism:
    """Return the mechanism to simulate, with its noise scale as given or derived from the budget."""
    if (request.epsilon is None) == (request.noise_scale is None):
        raise refusal("give a budget with {epsilon} (1 is a common choice), or the noise itself with {noise_scale}")
    simulated = [kind.name for kind in OWN.values() if kind.planned == ("epsilon",)]
    if request.mechanism not in simulated:
        raise InputError(
            Argument("mechanism"),
            f" must be {' or '.join(map(repr, simulated))} in a simulation, got {request.mechanism!r}",
        )
    mechanism = parse_mechanism(
        request.mechanism, epsilon=request.epsilon, scale=request.noise_scale, bins=request.bins
    )
    return Rehearsal.of(weights, mechanism, unit=request.unit).mechanism
