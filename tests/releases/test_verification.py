"""A reader's check accepts every release that we make, and refuses each forgery."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import peerveil as pv
from marks import mostly_slow
from peerveil.mechanisms import OwnMechanism
from peerveil.privacy.bins import Bins, NoisyCounts
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.sensitivity import sensitivity
from peerveil.quantities import QUANTITIES
from peerveil.record.loads import declare_loads
from peerveil.regions import REGIONS
from peerveil.releases.documents import document_digest
from peerveil.simulation.conferences import synthetic_conference
from strategies import Case, cases

CRITERIA = ("clarity", "soundness")


@pytest.fixture(scope="module")
def reviews() -> pv.Reviews:
    conference = synthetic_conference(reviewers=12, rng=np.random.default_rng(5), criteria=CRITERIA)
    return pv.read(conference.frame(), scale=conference.scale, criteria=CRITERIA)


@pytest.fixture(scope="module")
def weights(reviews: pv.Reviews) -> pv.PublicWeights:
    return pv.weigh(reviews.public("all"))


@pytest.fixture(scope="module")
def text(weights: pv.PublicWeights) -> str:
    """A release whose noise is so small that the noisy vector matters, entry by entry."""
    rng = np.random.default_rng(3)
    noisy = np.sort(rng.uniform(4, 7, weights.reviewers)) + rng.laplace(0, 0.5, weights.reviewers)
    mechanism = pv.Laplace(scale=0.5)
    claim = mechanism.guarantee(sensitivity(weights, "reviewer"), "reviewer")
    return replace(pv.refine(noisy, weights, mechanism=mechanism), guarantee=claim).to_json()


OWN: list[OwnMechanism] = [
    pv.Laplace(epsilon=1.0),
    pv.Laplace(scale=0.7),
    pv.Gaussian(rho=0.1),
    pv.Gaussian(epsilon=1.0, delta=1e-6),
    pv.Gaussian(scale=2.0, delta=1e-5),
    pv.SinhNormal(rho=0.5, omega=20.0),
    pv.Histogram(epsilon=1.0),
    pv.Histogram(scale=3.0, bins=7),
]


class TestAccepts:
    @pytest.mark.promise("P-FORMAT-4")
    @pytest.mark.parametrize("unit", ["reviewer", "review"])
    @pytest.mark.parametrize("mechanism", OWN, ids=repr)
    def test_every_mechanism_and_unit(self, reviews: pv.Reviews, mechanism: OwnMechanism, unit: str) -> None:
        made = pv.release(reviews, public="all", mechanism=mechanism, unit=unit, accept_float_noise=True)
        verification = pv.verify(made, pv.weigh(reviews.public("all")))
        assert verification, verification.checks
        assert {check.result for check in verification.checks} == {"holds"}

    @pytest.mark.parametrize(
        ("quantity", "public"),
        mostly_slow([*product(QUANTITIES, ("all", "none"))], 0, 3, 5, 6),
    )
    def test_every_quantity_with_public_and_hidden_scores(
        self, reviews: pv.Reviews, quantity: str, public: str, tmp_path: Path
    ) -> None:
        if public == "none" and quantity in ("normalized", "subjectivity"):
            visible: Any = half_hidden(reviews)
        else:
            visible = public
        weights = pv.weigh(reviews.public(visible), quantity)
        made = pv.release(reviews, public=visible, quantity=quantity, mechanism=pv.Laplace(epsilon=1.0))
        verification = pv.verify(made.save(tmp_path / "out"), weights)
        assert verification, verification.checks
        *rest, signature = verification.checks
        assert [check.result for check in rest] == ["holds"] * len(rest)
        assert (signature.result, signature.found) == ("not checked", "unsigned: authorship not checked")

    @pytest.mark.parametrize("estimator", ["projection", "safe", "bayes"])
    @pytest.mark.parametrize("region", ["baseline", "chain", "envelope", "tight"])
    def test_every_region_and_estimator(self, reviews: pv.Reviews, region: str, estimator: str) -> None:
        made = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=0.3), region=region, estimator=estimator)
        assert pv.verify(made, pv.weigh(reviews.public("all")))

    def test_the_hull(self) -> None:
        weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
        assert pv.verify(pv.refine([1.0, 0.0, 3.0, 2.0], weights, region="hull"), weights)

    def test_quantities_of_users(self, reviews: pv.Reviews) -> None:
        def distance(record: pv.PublicRecord) -> Any:
            return abs(record.score - record.score.mean())

        made = pv.release(reviews, public="all", quantity=distance, mechanism=pv.Laplace(epsilon=1.0))
        assert pv.verify(made, pv.weigh(reviews.public("all"), distance))

    @pytest.mark.parametrize(
        "mechanism",
        [
            None,
            pv.External(words="By the 2024 chairs."),
            pv.External(words="By the chairs.", law=pv.Laplace(scale=1.0)),
            pv.Laplace(scale=1.0),
            pv.Gaussian(scale=1.0),
            pv.SinhNormal(scale=1.0, bound=9.0),
        ],
        ids=repr,
    )
    def test_vectors_refined_elsewhere(self, mechanism: Any) -> None:
        weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], loads={1: 2, 2: 3})
        made = pv.refine([-0.5, 6.0, 2.5, 2.0, 6.5], weights, mechanism=mechanism)
        assert pv.verify(made, weights)
        assert pv.verify(pv.refine(made, weights, region="baseline", estimator="projection"), weights)

    def test_what_needs_no_noise(self) -> None:
        reviews = pv.Reviews.from_columns(["p", "p", "q"], ["a", "b", "c"], [1, 2, 3])
        for mechanism in (pv.Laplace(epsilon=1.0), pv.Gaussian(rho=1.0), pv.SinhNormal(rho=1.0, omega=2.0)):
            made = pv.release(reviews, public="all", mechanism=mechanism, accept_float_noise=True)
            assert pv.verify(made, pv.weigh(reviews.public("all"))), mechanism

    @given(cases(), st.sampled_from(["reviewer", "review"]), st.floats(0.01, 20.0))
    @settings(max_examples=25)
    def test_any_small_conference(self, case: Case, unit: str, epsilon: float) -> None:
        papers, reviewers, scores = case.columns()
        assume(len(set(reviewers)) > 1)
        reviews = pv.Reviews.from_columns(papers, reviewers, scores)
        made = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=epsilon), unit=unit)
        again = pv.Release.from_document(json.loads(made.to_json()))
        verification = pv.verify(again, pv.weigh(reviews.public("all")))
        assert verification, verification.checks


def half_hidden(reviews: pv.Reviews) -> pv.PublicRecord:
    """The record that shows every second paper only."""
    shown = reviews.public("all")
    rows = [list(row) if r % 2 else [None] * len(row) for r, row in enumerate(shown.rows())]
    assert shown.criteria is not None
    sizes = shown.sizes()
    columns = {
        name: [
            list(part) if r % 2 else [None] * len(part)
            for r, part in enumerate(np.split(shown.criteria[:, c], np.cumsum(sizes)[:-1]))
        ]
        for c, name in enumerate(shown.criteria_names)
    }
    loads = shown.loads.stated()
    return pv.PublicRecord.from_rows(rows, papers=shown.papers, scale=shown.scale, criteria=columns, **loads)


def change_value(document: dict[str, Any]) -> None:
    document["values"][4] += 1e-4 * (document["values"][-1] - document["values"][0])
    document["values"].sort()


def change_noisy(document: dict[str, Any]) -> None:
    document["noisy"][4] += 1.0


def swap_noisy(document: dict[str, Any]) -> None:
    noisy = document["noisy"]
    noisy[3], noisy[4] = noisy[4], noisy[3]


def restate(document: dict[str, Any], **changes: Any) -> None:
    """Forge a claim with the words that belong to it."""
    release = pv.Release.from_document(document)
    worded = json.loads(replace(release, guarantee=replace(release.guarantee, **changes)).to_json())
    document |= {key: worded[key] for key in ("guarantee", "claim")}


def claim_less(document: dict[str, Any]) -> None:
    restate(document, epsilon=document["guarantee"]["epsilon"] * 0.999)


def claim_more(document: dict[str, Any]) -> None:
    restate(document, epsilon=document["guarantee"]["epsilon"] * 1.001)


def claim_the_other_unit(document: dict[str, Any]) -> None:
    restate(document, unit="review")


def claim_concentrated(document: dict[str, Any]) -> None:
    restate(document, kind="zcdp", rho=0.01, epsilon=None, delta=None)


def claim_more_noise(document: dict[str, Any]) -> None:
    document["mechanism"]["scale"] *= 2


def claim_from_elsewhere(document: dict[str, Any]) -> None:
    document["mechanism"] = {"name": "external", "words": "Trust me.", "law": None}


def claim_unknown_noise(document: dict[str, Any]) -> None:
    document["mechanism"] = {"name": "magic"}


def claim_a_budget_only(document: dict[str, Any]) -> None:
    document["mechanism"] = {"name": "laplace", "epsilon": 1.0, "scale": None}


def widen(document: dict[str, Any]) -> None:
    document["lower"][0] -= 0.01


def other_estimator(document: dict[str, Any]) -> None:
    document["estimator"] = "projection"


def no_such_region(document: dict[str, Any]) -> None:
    document["region"] = "a hunch"


def no_such_estimator(document: dict[str, Any]) -> None:
    document["estimator"] = "a hunch"


def smaller_error(document: dict[str, Any]) -> None:
    document["outlook"]["expected_rmse"] /= 2


def narrower_bands(document: dict[str, Any]) -> None:
    document["outlook"]["lower"] = document["outlook"]["upper"]


def without_outlook(document: dict[str, Any]) -> None:
    document["outlook"] = None


def larger_gap(document: dict[str, Any]) -> None:
    document["certificate"]["gap"] += 1.0


def other_loads(document: dict[str, Any]) -> None:
    release = pv.Release.from_document(document)
    reviewers, reviews = release.loads.reviewers, release.loads.reviews
    loads = declare_loads(reviews, loads=(1, reviews - reviewers + 1), reviewers=reviewers)
    worded = json.loads(replace(release, loads=loads).to_json())
    document |= {key: worded[key] for key in ("record", "claim")}


def more_papers(document: dict[str, Any]) -> None:
    document["record"]["papers"] += 1


def other_quantity(document: dict[str, Any]) -> None:
    document["quantity"] = "miscalibration"


def unknown_version(document: dict[str, Any]) -> None:
    document["schema_version"] = 3


def missing_field(document: dict[str, Any]) -> None:
    del document["noisy"]


#: What a forger changes, who also writes the digest anew, and which checks notice. Of the noisy vector, `values`.
FORGERIES: dict[Callable[[dict[str, Any]], None], set[str]] = {
    change_value: {"values"},
    change_noisy: {"values"},
    swap_noisy: {"values"},
    claim_less: {"guarantee"},
    claim_more: {"guarantee"},
    claim_the_other_unit: {"guarantee"},
    claim_concentrated: {"guarantee"},
    claim_more_noise: {"guarantee", "values"},
    claim_from_elsewhere: {"guarantee", "values"},
    claim_unknown_noise: {"guarantee", "values"},
    claim_a_budget_only: {"guarantee", "values"},
    widen: {"region"},
    other_estimator: {"values"},
    no_such_region: {"region"},
    no_such_estimator: {"values"},
    smaller_error: {"outlook"},
    narrower_bands: {"outlook"},
    without_outlook: {"outlook"},
    larger_gap: {"certificate"},
    other_loads: {"record"},
    more_papers: {"record"},
    other_quantity: {"schema"},
    unknown_version: {"schema"},
    missing_field: {"schema"},
}


class TestRefuses:
    def test_the_honest_one_is_accepted(self, text: str, weights: pv.PublicWeights) -> None:
        assert pv.verify(pv.Release.from_document(json.loads(text)), weights)

    @pytest.mark.promise("P-CLAIM-4")
    @pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
    def test_forgeries(
        self, forge: Callable[[dict[str, Any]], None], text: str, weights: pv.PublicWeights, tmp_path: Path
    ) -> None:
        document = json.loads(text)
        forge(document)
        place = tmp_path / "release.json"
        place.write_text(json.dumps(document))
        assert set(pv.verify(place, weights).failed) & {"digest", "schema"}
        document["digest"] = document_digest(document)
        place.write_text(json.dumps(document))
        verification = pv.verify(place, weights)
        assert not verification
        assert FORGERIES[forge] <= set(verification.failed), verification.checks

    def test_another_record(self, text: str, reviews: pv.Reviews) -> None:
        shown = reviews.public("all")
        rows = shown.rows()
        rows[0][0] += 0.5
        others = [
            pv.weigh(pv.PublicRecord.from_rows(rows, papers=shown.papers, **shown.loads.stated())),
            pv.weigh(pv.PublicRecord.from_rows(shown.rows()[1:], loads=(1, 20), reviewers=shown.loads.reviewers)),
            pv.weigh(shown, "miscalibration"),
        ]
        release = pv.Release.from_document(json.loads(text))
        for other in others:
            verification = pv.verify(release, other)
            assert verification.failed == ("record",)
            assert {check.result for check in verification.checks[2:]} == {"not checked"}

    def test_a_noisy_entry_that_moves_no_value_is_noticed_too(self, tmp_path: Path) -> None:
        weights = pv.PublicWeights.from_rows([[1, 2]], load=1)
        document = json.loads(pv.refine([1, 2], weights).to_json())
        document["noisy"][0] = -7.0
        (tmp_path / "release.json").write_text(json.dumps(document))
        assert pv.verify(tmp_path, weights).failed == ("digest",)

    @pytest.mark.promise("P-FORMAT-4")
    def test_counts_and_bins_that_were_changed(self, reviews: pv.Reviews, weights: pv.PublicWeights) -> None:
        made = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=1.0))
        assert made.histogram is not None
        bins, counts = made.histogram.bins, made.histogram.counts

        def with_histogram(histogram: NoisyCounts) -> pv.Release:
            return replace(made, histogram=histogram, noisy=histogram.vector(made.reviewers))

        more = NoisyCounts(bins=bins, counts=counts + 40 * (np.arange(counts.size) == counts.argmin()))
        assert "values" in pv.verify(with_histogram(more), weights).failed
        moved = Bins.even(bins.low - 1e-3 * (np.arange(bins.number) == 0), bins.high)
        assert "bins" in pv.verify(with_histogram(NoisyCounts(bins=moved, counts=counts)), weights).failed

    def test_a_forged_promise_of_nothing(self, weights: pv.PublicWeights, text: str) -> None:
        forged = replace(
            pv.Release.from_document(json.loads(text)), guarantee=Guarantee(kind="stated", statement="Nothing leaks.")
        )
        assert pv.verify(forged, weights).failed == ("guarantee",)

    def test_noise_outside_its_theorem(self, weights: pv.PublicWeights) -> None:
        made = pv.refine(np.zeros(weights.reviewers), weights, mechanism=pv.SinhNormal(scale=1e-3, bound=1.0))
        claim = Guarantee(kind="tcdp", unit="reviewer", rho=0.1, omega=3.0, float_safe=False)
        assert "guarantee" in pv.verify(replace(made, guarantee=claim), weights).failed

    def test_a_caveat_that_was_taken_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        weights = pv.PublicWeights.from_rows([[1, 2], [3, 4], [5, 6]], load=2)
        cautious = replace(pv.region(weights), notes=("A weaker bound was taken.",))
        monkeypatch.setitem(REGIONS, "tight", lambda _: cautious)
        made = pv.refine([0.0, 1.0, 2.0], weights)
        assert pv.verify(made, weights)
        assert pv.verify(replace(made, notes=("From the chairs.", *made.notes)), weights)
        assert pv.verify(replace(made, notes=()), weights).failed == ("notes",)

    @pytest.mark.parametrize(
        ("old", "new"), [("\n3,", "\n3,9"), ("rank,value", "rank,values"), ("\n3,", "\n4,"), ("\n3,", "\nthree,")]
    )
    def test_a_table_that_differs(
        self, text: str, weights: pv.PublicWeights, tmp_path: Path, old: str, new: str
    ) -> None:
        pv.Release.from_document(json.loads(text)).save(tmp_path / "out")
        table = tmp_path / "out" / "release.csv"
        table.write_text(table.read_text().replace(old, new, 1))
        assert pv.verify(tmp_path / "out", weights).failed == ("release.csv",)

    def test_a_table_that_is_cut_short_or_absent(self, text: str, weights: pv.PublicWeights, tmp_path: Path) -> None:
        folder = pv.Release.from_document(json.loads(text)).save(tmp_path / "out")
        table = folder / "release.csv"
        table.write_text("\n".join(table.read_text().splitlines()[:-1]))
        assert pv.verify(folder, weights).failed == ("release.csv",)
        table.write_text("")
        assert pv.verify(folder, weights).failed == ("release.csv",)
        table.unlink()
        assert pv.verify(folder / "release.json", weights).checks[-1].result == "not checked"

    def test_what_is_no_json_is_an_error(self, tmp_path: Path, weights: pv.PublicWeights) -> None:
        (tmp_path / "release.json").write_text("{")
        with pytest.raises(pv.FileError, match="is not JSON"):
            pv.verify(tmp_path, weights)
        with pytest.raises(pv.FileError, match="cannot be read"):
            pv.verify(tmp_path / "absent", weights)


@pytest.mark.parametrize("quantity", ["ratings", "miscalibration", "spread of ratings"])
def test_a_public_record_is_weighed_as_the_release_says(quantity: str) -> None:
    synthetic = synthetic_conference(reviewers=40, rng=np.random.default_rng(3))
    reviews = pv.read(synthetic.frame(), scale=synthetic.scale)
    release = pv.release(reviews, public="all", quantity=quantity, mechanism=pv.Laplace(epsilon=1.0))
    record = reviews.public("all")
    assert pv.verify(release, record) == pv.verify(release, pv.weigh(record, quantity))
    assert pv.verify(release, record).verified


@pytest.mark.parametrize("weights", [[[1.0, 2.0]], "public.csv", (1, 2)])
def test_other_things_than_weights_or_records_are_refused(weights: Any) -> None:
    release = pv.refine([1.0, 2.0], pv.PublicWeights.from_rows([[1, 2]], load=1), mechanism=pv.Laplace(scale=1.0))
    with pytest.raises(pv.InputError, match="weights must be public weights or a public record, got "):
        pv.verify(release, weights)


def test_a_record_of_an_unknown_quantity_is_refused_with_the_remedy() -> None:
    record = pv.PublicRecord.from_rows([[1, 5], [2, 2]], load=2)
    release = pv.refine(
        [1.0, 2.0], pv.PublicWeights.from_rows([[1, 5], [2, 2]], load=2), mechanism=pv.Laplace(scale=1.0)
    )
    with pytest.raises(pv.InputError, match="'weights', which is no quantity of ours; give its public weights"):
        pv.verify(release, record)
