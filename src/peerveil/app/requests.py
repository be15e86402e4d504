"""Requests: the options of each action. Imports nothing heavy, so that ``--help`` is fast."""

from __future__ import annotations

from dataclasses import dataclass

from peerveil.app.options import (
    LoadsOptions,
    NoiseOptions,
    PublicOptions,
    PublishedOptions,
    ReadingOptions,
    ReleaseOptions,
    TrackOptions,
)


@dataclass(frozen=True, kw_only=True)
class InspectRequest:
    """Inspect a file."""

    file: str
    reading: ReadingOptions
    write_mapping: str | None = None
    write_public: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """Compare the accuracy of releases at several budgets."""

    public: str
    epsilon: str = "0.3,1,3"
    delta: float | None = None
    unit: str = "reviewer"
    quantity: str = "ratings"
    statistic: str = "mean"
    share: str | None = None
    weight: str | None = None
    loads: LoadsOptions
    scores: PublicOptions
    draws: int | None = None
    seed: int = 1
    workers: int | None = None
    cluster: str | None = None
    prior: str | None = None
    output: str | None = None
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest:
    """Release a file of reviews into a folder."""

    file: str
    output: str | None = None
    what: ReleaseOptions
    noise: NoiseOptions
    ledger: str | None = None
    loads: LoadsOptions
    reading: ReadingOptions
    tracks: TrackOptions
    no_shared_reviewers: bool = False
    by: str | None = None
    values: str | None = None
    others: bool = False
    sizes: str | None = None
    overwrite: bool = False
    no_report: bool = False

    @property
    def by_attribute(self) -> bool:
        """Whether an option is given that goes with an attribute of reviewers."""
        return self.others or any(given is not None for given in (self.by, self.values, self.sizes))


@dataclass(frozen=True, kw_only=True)
class EffectRequest:
    """Release the difference between two groups of reviewers, or plan it."""

    file: str
    output: str | None = None
    by: str
    compare: str | None = None
    same: str | None = None
    epsilon: float | None = None
    public: str | None = None
    quantity: str = "ratings"
    others: bool = False
    sizes: str | None = None
    randomised: bool = False
    limits: str | None = None
    icc: float | None = None
    level: float = 0.9
    first_share: float = 0.5
    unit: str = "reviewer"
    lone: str = "refuse"
    ledger: str | None = None
    dataset: str | None = None
    loads: LoadsOptions
    reading: ReadingOptions
    tracks: TrackOptions
    published: PublishedOptions
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class CorrelateRequest:
    """Release the correlation between people's means in two conferences, or plan it."""

    file: str
    second_file: str
    output: str | None = None
    epsilon: float | None = None
    public: str | None = None
    quantity: str = "miscalibration"
    links: str | None = None
    names: str | None = None
    least: int = 2
    bins: int | None = None
    level: float = 0.9
    expected_people: int | None = None
    unit: str = "reviewer"
    lone: str = "refuse"
    ledger: str | None = None
    datasets: str | None = None
    second_mapping: str | None = None
    reading: ReadingOptions
    published: PublishedOptions
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class RefineRequest:
    """Refine a published noisy vector."""

    noisy: str
    public: str
    output: str
    quantity: str | None = None
    mechanism: str = "laplace"
    noise_scale: float | None = None
    noise_bound: float | None = None
    words: str | None = None
    region: str = "tight"
    estimator: str | None = None
    prior: str | None = None
    loads: LoadsOptions
    scores: PublicOptions
    tracks: TrackOptions
    overwrite: bool = False
    no_report: bool = False


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """Check a published release against the public record."""

    release: str
    public: str
    loads: LoadsOptions
    scores: PublicOptions
    tracks: TrackOptions
    second_public: str | None = None
    signed_by: str | None = None
    prior: str | None = None


@dataclass(frozen=True, kw_only=True)
class TablesRequest:
    """Draw tables of papers, pseudonymous reviewers and scores from published releases."""

    release: str
    others: list[str] | None = None
    public: str
    output: str
    tables: int = 20
    seed: int = 1
    loads: LoadsOptions
    scores: PublicOptions
    tracks: TrackOptions
    workers: int | None = None
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """Compare two or more published releases."""

    releases: list[str]
    output: str | None = None
    names: tuple[str, str] = ("first", "second")
    labels: str | None = None


@dataclass(frozen=True, kw_only=True)
class PoolRequest:
    """Pool earlier releases into a prior."""

    releases: list[str]
    output: str


@dataclass(frozen=True, kw_only=True)
class BatchRequest:
    """Release many venues."""

    venues: str
    output: str
    private: str | None = None
    ledger: str | None = None
    workers: int | None = None
    cluster: str | None = None
    what: ReleaseOptions
    noise: NoiseOptions
    loads: LoadsOptions
    reading: ReadingOptions
    no_report: bool = False
    retries: int = 6
    in_flight: int = 64
    time_limit: float | None = None
    share_plans: bool = False
    log: str | None = None
    log_level: str = "info"
    metrics: str | None = None


@dataclass(frozen=True, kw_only=True)
class SimulateRequest:
    """Repeat the paper's experiments, or simulate on a public record."""

    experiment: str | None = None
    output: str
    public: str | None = None
    draws: int | None = None
    methods: str = "noisy,baseline,chain,tight,safe,bayes"
    mechanism: str = "laplace"
    noise_scale: float | None = None
    epsilon: float | None = None
    bins: int | None = None
    unit: str = "reviewer"
    leniency: str = "0,0.4,0.9,2"
    quantity: str = "ratings"
    loads: LoadsOptions
    scores: PublicOptions
    seed: int = 1
    workers: int | None = None
    cluster: str | None = None
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """Test the claims of a mechanism on worst-case neighbours."""

    noise: NoiseOptions
    unit: str = "reviewer"
    load: int = 2
    public: str | None = None
    case: str = "all"
    draws: int | None = None
    confidence: float = 0.99999
    workers: int | None = None


@dataclass(frozen=True, kw_only=True)
class DemoRequest:
    """Release a synthetic conference, or export it."""

    output: str = "peerveil-demo"
    seed: int = 1
    epsilon: float = 1.0
    export: str | None = None
    overwrite: bool = False
