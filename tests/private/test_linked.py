"""Releases of correlations: joining of people, charges of both data sets, resumption, random neighbours."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from peerveil.errors import BudgetError, InputError, LedgerWarning, PeerveilError, RecordError
from peerveil.private.charging import pending
from peerveil.private.ledger import Ledger
from peerveil.private.linked.correlation import linked_noise, prepare_correlation
from peerveil.private.linked.joining import same_reviewers
from peerveil.private.noise import Prepared
from peerveil.private.reviews import Reviews
from peerveil.record.parts import LeftOut

PEOPLE = 60


def conference(
    seed: int, *, people: int = PEOPLE, load: int = 3, prefix: str = "r", papers: int | None = None
) -> Reviews:
    """Reviews by people with ids from 0, each with the same load."""
    rng = np.random.default_rng(seed)
    steps = rng.choice(np.arange(1, people), load - 1, replace=False)
    who = (np.arange(people)[:, None] + [0, *steps]) % people
    scores = rng.integers(1, 11, who.shape)
    paper = np.repeat(np.arange(people), load)
    names = [f"{prefix}{j}" for j in who.ravel().tolist()]
    return Reviews.from_columns([f"p{p}" for p in paper.tolist()], names, scores.ravel().astype(float), scale=(1, 10))


def ready(first: Reviews, second: Reviews, **how: Any) -> Any:
    asked: dict[str, Any] = {"public": "all", "mechanism": pv.Laplace(epsilon=1.0)} | how
    return prepare_correlation(first, second, **asked)


@pytest.mark.promise("P-LINKED-7")
def test_true_numbers_are_those_of_people_in_both_with_enough_reviews() -> None:
    names = ["ann", "ann", "bob", "bob", "cem", "dee", "dee", "dee"]
    first = Reviews.from_columns(list("pqrstuvw"), names, [1, 2, 3, 4, 5, 2, 4, 3])
    second = Reviews.from_columns(list("pqrst"), ["bob", "bob", "ann", "eve", "eve"], [5, 1, 3, 2, 2])
    made = ready(first, second, quantity="ratings")
    sums = made.sums
    truth = dict(zip(sums.units, made.protected().truth / np.array(list(sums.units.values())), strict=True))
    one, other = sums.sides
    x, y = (np.sum(np.clip(w, *side.limits) - side.centre) / side.reach for w, side in (([3, 4], one), ([5, 1], other)))
    x, y = np.clip([x, y], -1, 1)
    assert truth["people"] == 1  # only bob has two reviews in each
    assert truth["loads_1"] == pytest.approx(4 / 9)  # two of at most three reviews
    assert not {"loads_2", "loads"} & set(truth)  # whoever counts in the second has two
    assert truth["sum_1"] == pytest.approx(x)
    assert truth["alike"] - truth["apart"] == pytest.approx(x * y)
    assert truth["alike"] + truth["apart"] == pytest.approx((x**2 + y**2) / 2)
    assert truth["difference"] == pytest.approx((x**2 - y**2) / 2)


def test_people_are_joined_by_ids_addresses_or_a_table() -> None:
    one = Reviews.from_columns(list("ppq"), ["Ann@x.org", "bob", "bob"], [1, 2, 3])
    other = Reviews.from_columns(list("ppq"), ["ANN@X.ORG ", "Bob", "Bob"], [1, 2, 3])
    assert [places.tolist() for places in same_reviewers(one, other)] == [[0], [0]]  # other ids differ by case
    table = io.BytesIO(b"here,there\nbob,Bob\nsomebody else,Ann@x.org\n")
    assert [places.tolist() for places in same_reviewers(one, other, table)] == [[1], [1]]
    merged = io.BytesIO(b"here,there\nB O B,bob\n")
    plain = Reviews.from_columns(list("ppq"), ["ann", "bob", "bob"], [1, 2, 3])
    assert [places.tolist() for places in same_reviewers(plain, plain, merged, merge_names=True)] == [[1], [1]]


@pytest.mark.promise("P-LINKED-4")
def test_names_are_not_kept() -> None:
    reviews = pv.read(io.BytesIO(b"paper,reviewer,score\np,secret@x.org,1\nq,secret@x.org,2\np,b@x.org,3\n"))
    assert "secret" not in repr(vars(reviews))
    assert reviews.pseudonyms is not None
    assert b"secret" not in reviews.pseudonyms.tobytes()
    again = pv.read(io.BytesIO(b"paper,reviewer,score\np,Secret@X.org,1\nq,secret@x.org,2\np,b@x.org,3\n"))
    assert again.pseudonyms is not None
    assert set(again.pseudonyms.tolist()) == set(reviews.pseudonyms.tolist())


@pytest.mark.promise("P-LINKED-3", "P-LINKED-4")
@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (b"here,there\nr1,r1\nr2,r2\nr1,r3\n", r"line 4.*column 'first'.*the same person is in line 2"),
        (b"here,there\nr1,r1\nr2,r1\n", r"line 3.*column 'second'.*the same person is in line 2"),
        (b"here,there\nA@x.org,r1\na@X.org,r2\n", r"line 3.*the same person is in line 2"),
        (b"here,there,more\nr1,r1,1\n", "has 3 columns; two are needed"),
        (b"here\nr1\n", "has 1 column"),
        (b"here,there\nr1,\n", "line 2"),
        (b"r1,r5\nr2,r2\n", "the first line holds ids of people; it must be a header"),
        (b"left,r3\nr2,r2\n", "the first line holds ids of people"),
        (b"gone@x.org,too@x.org\nr2,r2\n", "the first line holds ids of people"),
        (b"zqx,zqy\nr1,r1\nr1,r2\n", r"line 3.*column 'first'.*the same person is in line 2"),
        (b"here,there\nx1,y1\n", "no row of the table has an id of each"),
    ],
)
def test_a_wrong_table_is_refused_by_line_and_names_nobody(table: bytes, problem: str) -> None:
    with pytest.raises(PeerveilError) as refused:
        ready(conference(1), conference(2), links=io.BytesIO(table))
    assert re.search(problem, str(refused.value))
    assert not re.search(r"\br\d|x\.org|x1|y1", str(refused.value), re.IGNORECASE)


def test_nobody_in_both_is_refused_in_words() -> None:
    with pytest.raises(RecordError, match=r"nobody is in both files.*such as e-mail addresses"):
        ready(conference(1), conference(2, prefix="s"))


def test_what_is_missing_or_wrong_is_refused() -> None:
    first, second = conference(1), conference(2)
    with pytest.raises(InputError, match="which scores are public must be stated"):
        pv.correlate(first, second, epsilon=1.0)
    with pytest.raises(InputError, match="needs public scores"):
        pv.correlate(first, second, epsilon=1.0, public="none")
    with pytest.raises(InputError, match="pair of public records"):
        pv.correlate(first, second, epsilon=1.0, public=first.public("all"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="names must be two names"):
        pv.correlate(first, second, epsilon=1.0, public="all", names=("one",))
    with pytest.raises(InputError, match="two different names"):
        pv.correlate(first, second, epsilon=1.0, public="all", names=("one", "one"))
    with pytest.raises(InputError, match="no ledger is given"):
        pv.correlate(first, second, epsilon=1.0, public="all", datasets=("a", "b"))


def test_a_public_record_of_each_may_be_given() -> None:
    first, second = conference(1), conference(2)
    made = pv.correlate(first, second, epsilon=1.0, public=(first.public("all"), "all"))
    weights = tuple(pv.weigh(reviews.public("all"), "miscalibration") for reviews in (first, second))
    assert pv.verify(made, (weights[0], weights[1])).verified


@pytest.mark.promise("P-LINKED-2")
def test_both_data_sets_are_charged_or_none(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    book = Ledger.create(place)
    book.open("one", epsilon=2.0)
    book.open("two", epsilon=1.2)
    book.open("two", "review", epsilon=5.0)
    first, second = conference(1), conference(2)
    how: dict[str, Any] = {"public": "all", "ledger": place, "datasets": ("one", "two")}
    made = pv.correlate(first, second, epsilon=1.0, **how)
    assert [(entry.dataset, entry.unit, entry.release) for entry in book.history()] == [
        ("one", "reviewer", made.charge),
        ("two", "reviewer", made.charge),
        ("two", "review", made.charge),
    ]
    assert book.check().ok
    folder = made.save(tmp_path / "made")
    assert book.check([folder]).ok
    with pytest.raises(BudgetError, match=r"of the budget of 'two' \(reviewer\) 0\.1999"):
        pv.correlate(first, second, epsilon=0.5, **how)
    assert len(book.history()) == 3  # the first data set could have paid
    assert pending(place) == []
    with pytest.raises(InputError, match="data sets of both conferences"):
        pv.correlate(first, second, epsilon=0.1, public="all", ledger=place, datasets=("one", "one"))
    with pytest.raises(InputError, match="data sets of both conferences"):
        pv.correlate(first, second, epsilon=0.1, public="all", ledger=place)
    with pytest.raises(InputError, match="has no budget"):
        pv.correlate(first, second, epsilon=0.1, public="all", ledger=place, datasets=("one", "three"))
    noise = pv.Laplace(epsilon=0.1)
    pv.release(first, public="all", mechanism=noise, estimator="projection", ledger=place, dataset="one")


@pytest.mark.promise("P-LINKED-5")
def test_a_dry_run_states_and_costs_what_the_release_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(tmp_path / "ledger.db")
    book = Ledger.create(place)
    book.open("one", epsilon=2.0)
    book.open("two", epsilon=1.2)
    first, second = conference(1), conference(2)
    how: dict[str, Any] = {"public": "all", "ledger": place, "datasets": ("one", "two")}
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(Prepared, "draw_often", lambda *_: pytest.fail("noise was drawn"))
        promise = pv.promise_correlation(first, second, epsilon=1.0, people=50, **how)
        with pytest.raises(pytest.fail.Exception, match="noise was drawn"):  # the release would draw
            pv.correlate(first, second, epsilon=1.0, public="all")
        for other in ({"dataset": "one"}, {"datasets": ("one", "three")}, {"public": None}, {"unit": "paper"}):
            for asks in (pv.promise_correlation, pv.correlate):
                with pytest.raises((InputError, TypeError)):
                    asks(first, second, epsilon=1.0, **how | other)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert [(quote.dataset, round(quote.after, 3)) for quote in promise.quotes] == [("one", 1.0), ("two", 0.2)]
    assert not book.history()
    made = pv.correlate(first, second, epsilon=1.0, **how)
    assert promise.guarantee == made.guarantee
    assert made.question.names == ("one", "two")
    assert "the correlation between one and two" in dict(promise.facts())["release"]
    assert "50 people count" in dict(promise.facts())["assumed"]
    with pytest.raises(BudgetError):
        pv.promise_correlation(first, second, epsilon=1.0, **how)


def test_a_dry_run_and_the_release_cost_a_series_of_both_once(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    book = Ledger.create(place)
    book.open_series("Conf", epsilon=1.5)
    for name in ("one", "two"):
        book.open(name, epsilon=2.0)
        book.join("Conf", name)
    first, second = conference(1), conference(2)
    how: dict[str, Any] = {"public": "all", "ledger": place, "datasets": ("one", "two")}
    promise = pv.promise_correlation(first, second, epsilon=1.0, **how)
    assert [(quote.dataset, quote.after) for quote in promise.quotes] == [("one", 1.0), ("Conf", 0.5), ("two", 1.0)]
    made = pv.correlate(first, second, epsilon=1.0, **how)
    assert book.series("Conf")[0].left == pytest.approx(0.5)
    assert book.check([made.save(tmp_path / "made")]).ok
    with pytest.raises(BudgetError, match="of the series 'Conf'"):
        pv.promise_correlation(first, second, epsilon=0.75, **how)


def test_true_counts_are_those_of_people_in_both() -> None:
    names = ["ann", "ann", "bob", "bob", "cem", "dee", "dee"]
    first = Reviews.from_columns(list("pqrstuv"), names, [1, 2, 4, 5, 5, 1, 1])
    second = Reviews.from_columns(
        list("pqrstuv"), ["bob", "bob", "ann", "ann", "cem", "dee", "dee"], [5, 4, 4, 5, 1, 1, 2]
    )
    made = ready(first, second, quantity="ratings", bins=2, mechanism=pv.Histogram(epsilon=1.0, bins=2))
    assert made.protected().truth.tolist() == [1, 1, 0, 1]  # dee, ann, nobody, bob; cem has one review


def test_the_order_of_reviews_moves_nobody_in_a_table() -> None:
    """Means next to a cut are the same to the last bit, or people who exchanged nothing would change their cells."""

    def asked(scores: Sequence[float]) -> Any:
        papers, people = [f"p{i}" for i in range(6)], ["a"] * 3 + ["b"] * 3
        one = Reviews.from_columns(papers, people, [*scores, 0.4, 0.4, 0.0], scale=(0, 0.4))
        return ready(one, one, public="none", quantity="ratings", mechanism=linked_noise(1.0, 2), bins=2)

    (cut,) = asked([0.1, 0.2, 0.3]).sums.bins[0].cuts
    rng, found = np.random.default_rng(1), 0
    while found < 5:
        first, second = (0.1 + 0.1 * rng.random(2)).tolist()
        scores = (first, second, 3 * cut - first - second)
        orders = list(permutations(scores))
        if len({(one + two + three) / 3 >= cut for one, two, three in orders}) == 2:  # added up one after the other
            counts = [asked(order).protected().truth for order in orders]
            assert all(np.array_equal(one, counts[0]) for one in counts)
            found += 1


@pytest.mark.parametrize("unit", ["reviewer", "review"])
def test_a_table_of_hidden_scores_is_released(unit: str) -> None:
    made = pv.correlate(conference(1), conference(2), epsilon=5.0, public="none", quantity="ratings", bins=2, unit=unit)
    assert len(made.cells) == 4
    assert made.guarantee.unit == unit


def test_conferences_without_names_read_well() -> None:
    made = pv.correlate(conference(1), conference(2), epsilon=9.0, public="all")
    assert "in the first conference and in the second conference is" in made.sentence


def test_an_interrupted_release_is_resumed_and_charged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(tmp_path / "ledger.db")
    book = Ledger.create(place)
    for name in ("one", "two"):
        book.open(name, epsilon=1.0)
    first, second = conference(1), conference(2)
    how: dict[str, Any] = {"public": "all", "epsilon": 1.0, "ledger": place, "datasets": ("one", "two")}
    with monkeypatch.context() as broken:
        broken.setattr(
            "peerveil.private.linked.correlation.publish", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt) as stopped:
            pv.correlate(first, second, **how)
    assert "of 'one' and of 'two'" in " ".join(stopped.value.__notes__)
    assert len(book.history()) == 2
    with pytest.raises(BudgetError):  # other links are another release
        pv.correlate(first, second, links=io.BytesIO(b"a,b\nr1,r2\nr3,r4\n"), **how)
    with pytest.warns(LedgerWarning, match="resumed"):
        made = pv.correlate(first, second, **how)
    assert len(book.history()) == 2
    assert made.charge == book.history()[0].release


def test_hidden_scores_have_no_trait() -> None:
    made = pv.correlate(conference(1), conference(2), public="none", quantity="ratings", epsilon=1.0)
    assert made.trait is None
    assert made.guarantee.neighbours.hidden
    assert "scores that are not public" in made.guarantee.promise


def test_parts_of_conferences_count_people_with_kept_reviews() -> None:
    first = conference(1)
    part = first.only(first.papers[:40])
    made = ready(part, conference(2))
    assert made.sums.sides[0].whole is False
    assert made.noise.guarantee.neighbours.part
    assert made.bound("reviewer").l1 > ready(first, conference(2)).bound("reviewer").l1
    assert isinstance(part.whole.left_out[0], LeftOut) if part.whole else False


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
@pytest.mark.parametrize(("public", "quantity"), [("all", "miscalibration"), ("all", "ratings"), ("none", "ratings")])
@pytest.mark.parametrize("kept", [None, 8])
def test_random_neighbours_stay_within_the_bound(seed: int, public: str, quantity: str, kept: int | None) -> None:
    """Attack: one person's reviews in both are exchanged at random, greedily towards the largest move."""
    rng = np.random.default_rng([seed, 7])
    both = [_random(rng, people=7, load=3) for _ in range(2)]
    largest, bound = 0.0, 0.0
    for _ in range(12):
        z = int(rng.integers(7))
        after = [_exchanged(one, z, rng, hidden=public == "none") for one in both]
        truths = []
        for columns in (both, after):
            reviews = [_reviews(one) for one in columns]
            if kept is not None:
                reviews[0] = reviews[0].only([f"p{p}" for p in range(kept)])
            made = ready(*reviews, public=public, quantity=quantity, lone="zero", least=1)
            truths.append(made.protected().truth)
            bound = made.bound("reviewer").l1
        largest = max(largest, float(np.abs(truths[0] - truths[1]).sum()))
    assert 0 < largest <= bound


def _random(rng: np.random.Generator, *, people: int, load: int) -> tuple[list[int], list[int], list[float]]:
    """Papers, holders and scores of a random conference, in which nobody has two reviews of a paper."""
    while True:
        holders = np.repeat(np.arange(people), load)
        rng.shuffle(holders)
        papers = np.arange(holders.size) // 2
        if len(set(zip(papers.tolist(), holders.tolist(), strict=True))) == holders.size:
            scores = rng.choice([0.0, 0.3, 1.0], holders.size)
            return papers.tolist(), holders.tolist(), scores.tolist()


def _exchanged(one: tuple[list[int], list[int], list[float]], z: int, rng: np.random.Generator, *, hidden: bool) -> Any:
    """The conference after exchanges of reviews of one person, each with somebody else's."""
    papers, holders, scores = list(one[0]), list(one[1]), list(one[2])
    mine = [place for place, holder in enumerate(holders) if holder == z]
    free = [place for place, holder in enumerate(holders) if holder != z]
    rng.shuffle(free)
    for place in mine:
        for other in free:
            changed = holders.copy()
            changed[place], changed[other] = holders[other], z
            pairs = set(zip(papers, changed, strict=True))
            if holders[other] != z and other not in mine and len(pairs) == len(papers):
                holders = changed
                free.remove(other)
                if hidden:
                    scores[place], scores[other] = (float(rng.integers(2)) for _ in range(2))
                break
    return papers, holders, scores


def _reviews(one: tuple[list[int], list[int], list[float]]) -> Reviews:
    papers, holders, scores = one
    return Reviews.from_columns([f"p{p}" for p in papers], [f"r{r}" for r in holders], scores, scale=(0, 1))
