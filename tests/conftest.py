"""What all tests share."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

# Before NumPy is imported, and for every process that tests start: each core has a test to run already.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import bands  # noqa: E402

# A console takes its width from the environment when it is made, which tests change for a while.
import peerveil.cli.show  # noqa: E402, F401

# Tests that a shell started in the background ignore these signals, and so would all processes that they start.
for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) == signal.SIG_IGN:
        signal.signal(getattr(signal, name), handler)

# Tests start many processes, and each would compile the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile(
    "peerveil", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
_USUAL = settings.get_profile("peerveil")
settings.register_profile("thorough", parent=_USUAL, max_examples=100)
settings.register_profile("deep", parent=_USUAL, max_examples=2000, derandomize=False)
settings.register_profile("unshrunk", parent=_USUAL, phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "peerveil"))

#: Scripts that ran with the version whose files they wrote: not for the present code.
collect_ignore_glob = ["golden/*"]

#: Real public records and published bounds, where somebody has them; never part of the project.
DATA = Path(os.environ.get("PEERVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "data(name): needs that file of real public records; not collected without it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    missing = [item for item in items if any(not (DATA / mark.args[0]).exists() for mark in item.iter_markers("data"))]
    if missing:
        config.hook.pytest_deselected(items=missing)
        items[:] = [item for item in items if item not in missing]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Where everything is required, a skipped test is a failed one. A failed one tells where its browser stands."""
    outcome = yield
    report = outcome.get_result()
    if report.failed and "browser" in sys.modules:
        present = sys.modules["browser"].PRESENT
        report.sections += [("browser", f"The browser was at {visitor.where()}") for visitor in present]
    if report.skipped and os.environ.get("PEERVEIL_REQUIRE_ALL") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, though PEERVEIL_REQUIRE_ALL is set: {report.longrepr}"


@pytest.fixture
def data() -> Path:
    """The folder of real public records."""
    return DATA


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the key of whoever runs it, nor what is kept of releases."""
    monkeypatch.setenv("PEERVEIL_KEY_FILE", str(tmp_path / "secret" / "key"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "secret" / "state"))
    monkeypatch.delenv("PEERVEIL_STATE_DIR", raising=False)


@pytest.fixture
def quick_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases that name no mechanism choose one by a plan of few rehearsals: every path is taken, in less time."""
    monkeypatch.setattr("peerveil.planning.auto._DRAWS", 1)


@pytest.fixture(autouse=True)
def honest_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every release of every test has its values in their bands, ascending bands, and no certainty without reason."""
    monkeypatch.setattr("peerveil.inference.estimators._expected_error", bands.checked)


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each core runs tests already: only tests that ask for several workers start processes for them."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
