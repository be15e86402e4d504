"""Releases of effects from private reviews: what is refused, what is charged, and parts of a conference."""

from __future__ import annotations

import io
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.private.charging import Spending
from peerveil.private.effects import prepare_effect
from peerveil.releases.effects.published import NOTE_REVIEW
from releases.test_effect import ASKED, conference, weights_of

__all__ = ["run"]  # a fixture


def asked(**other: Any) -> dict[str, Any]:
    return {"by": "arm", "compare": ("treated", "control"), "public": "all", "epsilon": 1.0} | other


REFUSED = [
    ({"by": "country"}, "by must be a column of the table of attributes that describes reviewers \\("),
    ({"compare": ("treated",)}, "compare must name two groups"),
    ({"compare": "treated,control"}, "compare must name two groups"),
    ({"compare": ("treated", "treated")}, "two different groups"),
    ({"compare": ("treated", "placebo")}, "no reviewer is in the group 'placebo'"),
    ({"by": "seniority", "compare": ("senior", "junior")}, "^some reviewers are in neither group"),
    ({"public": None}, "must be stated"),
    ({"epsilon": 0.0}, "epsilon must be"),
    ({"unit": "paper"}, "unit must be"),
    ({"level": 2.0}, "level must be"),
    ({"limits": (9, 2)}, "limits must be"),
    ({"limits": (1, 2)}, "at least half of the public weights"),
    ({"icc": -1.0}, "icc must be"),
    ({"public": "none", "icc": 0.1}, "icc goes with public scores"),
    ({"public": "none", "quantity": "miscalibration"}, "needs public scores"),
    ({"same": {}}, "compare names groups of reviewers"),
    ({"compare": None}, "compare must name two groups"),
    ({"compare": None, "same": {"p0000": "x"}, "quantity": "miscalibration"}, "it has none for 119 papers"),
    ({"compare": None, "same": {}, "others": True, "quantity": "miscalibration"}, "do not go with it"),
    ({"compare": None, "same": {}}, "may be better or worse; compare reviews of one paper"),
    ({"quantity": "spread of ratings"}, "difference of means, not of spread of ratings"),
]


@pytest.mark.promise("P-EFFECT-4")
@pytest.mark.parametrize(("other", "message"), REFUSED, ids=[message[:24] for _, message in REFUSED])
def test_what_cannot_be_released_is_refused(other: dict[str, Any], message: str) -> None:
    with pytest.raises(pv.InputError, match=message) as refused:
        pv.effect(conference(), **asked(**other))
    assert "retired" not in str(refused.value)  # a value of the private table that nobody named


def test_reviews_without_attributes_are_refused() -> None:
    with pytest.raises(pv.InputError, match="no attributes of reviewers"):
        pv.effect(replace(conference(), attributes=None), **asked())


def test_attributes_are_joined_by_id_from_a_table() -> None:
    rows = "paper,reviewer,score\n" + "".join(
        f"p{i},r{(i + j) % 9},{(i * j) % 5 + 1}\n" for i in range(9) for j in range(3)
    )
    table = "reviewer,arm\n" + "".join(f"r{j},{'b' if j < 3 else 'a'}\n" for j in reversed(range(9)))
    reviews = pv.read(io.BytesIO(rows.encode()), attributes=io.BytesIO(table.encode()), scale=(1, 5))
    ready = prepare_effect(
        reviews, by="arm", compare=("b", "a"), mechanism=pv.Laplace(epsilon=1.0), public="all", limits=(1, 5)
    )
    mine = [(i * j) % 5 + 1 - 3 for i in range(9) for j in range(3) if (i + j) % 9 < 3]
    numbers = dict(zip(ready.sums.units, ready.protected().truth / list(ready.sums.units.values()), strict=True))
    assert numbers["sum_1"] == pytest.approx(sum(mine))
    assert numbers["reviews_1"] == len(mine)


@pytest.mark.parametrize("quantity", ["column confidence", "share of confidence>=2"])
def test_the_score_is_not_taken_for_another_column(quantity: str) -> None:
    rows = "paper,reviewer,score,confidence\n" + "".join(
        f"p{i},r{(i + j) % 9},{(i * j) % 5 + 1},{j + 1}\n" for i in range(9) for j in range(3)
    )
    people = "reviewer,arm\n" + "".join(f"r{j},{('treated', 'control')[j % 2]}\n" for j in range(9))
    sources = io.BytesIO(rows.encode()), io.BytesIO(people.encode())
    reviews = pv.read(sources[0], attributes=sources[1], scale=(1, 5))
    with pytest.raises(pv.InputError, match="'confidence', which was not read"):
        pv.effect(reviews, **asked(quantity=quantity))


def test_reviews_are_compared_whose_reviewer_has_the_value_of_the_paper(tmp_path: Path, run: Run) -> None:
    rows = [(i, (i + j) % 9, (i * j) % 5 + 1) for i in range(9) for j in range(3)]
    country = ["de", "fr", "", "de", "us", "fr", "de", "de", "fr"]
    paper = ["de", "fr", "de", "us", "us", "fr", "jp", "de", "de"]
    files = {
        "reviews": ["paper,reviewer,score", *(f"p{i},r{j},{score}" for i, j, score in rows)],
        "reviewers": ["reviewer,country", *(f"r{j},{value}" for j, value in enumerate(country))],
        "papers": ["paper,country", *(f"p{i},{value}" for i, value in enumerate(paper))],
    }
    for name, lines in files.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    reviews = pv.read(tmp_path / "reviews.csv", attributes=tmp_path / "reviewers.csv", scale=(1, 5))
    ready = prepare_effect(
        reviews,
        by="country",
        same=pv.read_groups(tmp_path / "papers.csv", group="country"),
        mechanism=pv.Laplace(epsilon=1.0),
        public="all",
        quantity="miscalibration",
        limits=(-4, 4),
    )
    alike = [(i, score) for i, j, score in rows if country[j] == paper[i]]
    of_paper = [[score for i, _, score in rows if i == p] for p in range(9)]
    weights = [score - (sum(of_paper[i]) - score) / 2 for i, score in alike]
    numbers = dict(zip(ready.sums.units, ready.protected().truth / list(ready.sums.units.values()), strict=True))
    assert numbers["sum_1"] == pytest.approx(sum(weights))
    assert numbers["reviews_1"] == len(alike)
    assert numbers["mixed"] == pytest.approx(
        sum(m * (3 - m) / 2 for m in (sum(i == p for i, _ in alike) for p in range(9)))
    )
    files_of = (str(tmp_path / f"{name}.csv") for name in ("reviews", "reviewers", "papers"))
    options = dict(zip(("file", "--attributes", "--same"), files_of, strict=True))
    command = ("effect", options.pop("file"), *(word for pair in options.items() for word in pair))
    command += ("--by", "country", "--public", "all", "--quantity", "miscalibration", "--score-scale", "1,5")
    assert "budget" in run(*command, "--plan").out
    out = str(tmp_path / "out")
    made = run(*command, "--epsilon", "1", "-o", out)
    assert "by reviewers with the country of the paper" in " ".join(made.out.split())
    assert pv.verify(out, pv.weigh(reviews.public("all"), "miscalibration")).verified
    refused = run(*command, "--compare", "de,fr", "--epsilon", "1", "-o", f"{out}2")
    assert refused.code == 2
    assert "--compare" in refused.err


def test_a_function_of_several_columns_is_compared() -> None:
    rows = [(i, (i + j) % 9, (i * j) % 5 + 1, (i + 2 * j) % 5 + 1) for i in range(9) for j in range(3)]
    table = "paper,reviewer,score,confidence\n" + "".join(f"p{i},r{j},{s},{c}\n" for i, j, s, c in rows)
    people = "reviewer,arm\n" + "".join(f"r{j},{'b' if j < 3 else 'a'}\n" for j in range(9))
    sources = io.BytesIO(table.encode()), io.BytesIO(people.encode())
    reviews = pv.read(sources[0], attributes=sources[1], scale=(1, 5), criteria=["confidence"])

    def product(record: pv.PublicRecord) -> Any:
        assert record.criteria is not None
        return record.score * record.criteria[:, 0]

    ready = prepare_effect(
        reviews,
        by="arm",
        compare=("b", "a"),
        mechanism=pv.Laplace(epsilon=1.0),
        public="all",
        quantity=product,
        limits=(0, 25),
    )
    assert ready.protected().truth[0] == pytest.approx(sum(s * c - 12.5 for _, j, s, c in rows if j < 3))
    with pytest.raises(pv.InputError, match="only be released where all scores are public"):
        pv.effect(reviews, by="arm", compare=("b", "a"), public="none", quantity=product, epsilon=1.0)


def test_it_is_declared_that_both_groups_have_reviews() -> None:
    """Otherwise a release would tell that a group of one person is not empty: without that person it is refused."""
    assert pv.effect(conference(), **asked()).public.endswith(", and that both groups have reviews")


@pytest.mark.promise("P-EFFECT-10")
def test_neighbours_have_other_attributes_only_if_reviewers_are_protected() -> None:
    reviewer, review = (pv.effect(conference(), **asked(unit=unit)) for unit in ("reviewer", "review"))
    assert "in that reviewer's attributes" in reviewer.guarantee.promise
    assert "your attributes" in reviewer.guarantee.human
    assert "attributes" not in review.guarantee.promise
    assert NOTE_REVIEW in review.notes
    assert NOTE_REVIEW not in reviewer.notes


def test_a_release_of_means_states_the_correlation() -> None:
    reviews = conference()
    means = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=1.0))
    (share,) = [finding.upper for finding in means.findings if finding.name == "leniency_share"]
    assert pv.effect(reviews, **asked(icc=means)).question.icc == pytest.approx(share)
    with pytest.raises(pv.InputError, match="a release of miscalibration"):
        pv.effect(reviews, **asked(icc=means, quantity="miscalibration", randomised=True))


def test_papers_that_were_left_out_are_counted_in_the_claim(tmp_path: Path) -> None:
    reviews = conference()
    part = reviews.only(reviews.papers[:60])
    effect = pv.effect(part, **asked())
    assert effect.part is not None
    assert effect.guarantee.neighbours.part
    assert pv.verify(effect.save(tmp_path / "out"), pv.weigh(part.public("all"))).verified


def test_a_ledger_is_charged_once_for_each_unit(tmp_path: Path) -> None:
    place = str(tmp_path / "budgets.db")
    book = pv.Ledger.create(place)
    for unit, epsilon in (("reviewer", 3.0), ("review", 1.5)):
        book.open("conf", unit=unit, epsilon=epsilon)
    reviews = conference()
    effect = pv.effect(reviews, **asked(ledger=place))
    effect.save(tmp_path / "out" / "effect")
    charges = {entry.unit: entry for entry in book.history("conf")}
    assert {entry.release for entry in charges.values()} == {effect.charge}
    assert charges["reviewer"].spend.epsilon == pytest.approx(1.0)
    review = charges["review"].spend.epsilon
    assert review is not None
    assert 0.2 < review < 0.4  # one exchange instead of four
    assert charges["reviewer"].quantity == "effect of arm on ratings"
    means = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=1.0), ledger=place)
    means.save(tmp_path / "out" / "means", report=False)
    assert book.check([tmp_path / "out"]).ok
    with pytest.raises(pv.BudgetError):
        pv.effect(reviews, **asked(epsilon=2.0, ledger=place))
    assert len({entry.release for entry in book.history("conf")}) == 2


def test_the_claim_of_all_releases_names_what_is_declared_about_groups(tmp_path: Path, run: Run) -> None:
    place = str(tmp_path / "budgets.db")
    book = pv.Ledger.create(place)
    book.open("conf", unit="reviewer", epsilon=30.0)
    reviews, noise = conference(), pv.Histogram(epsilon=1.0)
    pv.release(reviews, public="all", mechanism=noise, ledger=place)
    pv.effect(reviews, **asked(ledger=place))
    pv.effect(reviews, **asked(ledger=place))
    values: dict[str, Any] = {"by": "arm", "values": ("control", "treated"), "public": "all", "epsilon": 1.0}
    pv.release_by(reviews, **values, ledger=place)  # the same facts
    first, second = book.statements("conf")
    assert first.statement.invariants == ()
    assert "attribute 'arm': every reviewer has one of the values 'control', 'treated'" in second.statement.invariants
    assert "attribute 'arm': some reviewer has the value 'treated'" in second.statement.invariants
    shown = " ".join(run("ledger", "show", place).out.split())
    assert "every reviewer has one of the values 'control', 'treated'" in shown
    # More about the same attribute is refused until it is declared.
    seniors = asked(by="seniority", compare=("senior", "junior"), others=True, ledger=place)
    pv.effect(reviews, **seniors)
    with pytest.raises(pv.BudgetError, match=r"'retired'.*declare it once") as refused:
        pv.effect(reviews, **seniors | {"compare": ("senior", "retired")})
    command = str(refused.value).split("`")[1]
    run(*shlex.split(command)[1:])
    pv.effect(reviews, **seniors | {"compare": ("senior", "retired")})
    assert len({entry.release for entry in book.history("conf")}) == 6
    assert book.check().ok


def test_an_effect_that_was_charged_and_not_written_is_finished_without_another_charge(tmp_path: Path) -> None:
    place = str(tmp_path / "budgets.db")
    pv.Ledger.create(place).open("conf", unit="reviewer", epsilon=1.0)
    ready = prepare_effect(
        conference(), by="arm", compare=("treated", "control"), mechanism=pv.Laplace(epsilon=1.0), public="all"
    )
    with Spending(place) as spending:
        first = ready.draw(spending, None)  # and not written
    with Spending(place) as spending:
        again = ready.draw(spending, None)
        spending.done("here")
    assert again.noisy.tolist() == first.noisy.tolist()
    assert again.charge == first.charge
    assert len(pv.Ledger(place).history("conf")) == 1


def test_what_was_drawn_for_other_groups_is_not_taken(tmp_path: Path) -> None:
    place = str(tmp_path / "budgets.db")
    pv.Ledger.create(place).open("conf", unit="reviewer", epsilon=2.0)
    reviews = conference()
    assert reviews.attributes is not None
    arm, senior = reviews.attributes.values
    other = replace(reviews, attributes=replace(reviews.attributes, values=(tuple(reversed(arm)), senior)))
    made = []
    for each in (reviews, other):
        with Spending(place) as spending:  # and not written
            made.append(
                prepare_effect(
                    each, by="arm", compare=("treated", "control"), mechanism=pv.Laplace(epsilon=1.0), public="all"
                ).draw(spending, None)
            )
    assert made[0].charge != made[1].charge
    assert made[0].noisy.tolist() != made[1].noisy.tolist()


def files(folder: Path, reviews: pv.Reviews) -> None:
    rows = zip(reviews.paper.tolist(), reviews.reviewer.tolist(), reviews.score.tolist(), strict=True)
    lines = [(reviews.papers[paper], f"person{who}", f"{score:g}") for paper, who, score in rows]
    (folder / "reviews.csv").write_text("paper,reviewer,score\n" + "".join(f"{a},{b},{c}\n" for a, b, c in lines))
    (folder / "public.csv").write_text("paper,score\n" + "".join(f"{a},{c}\n" for a, _, c in lines))
    assert reviews.attributes is not None
    arms = enumerate(reviews.attributes.values[0])
    (folder / "reviewers.csv").write_text("reviewer,arm\n" + "".join(f"person{who},{arm}\n" for who, arm in arms))


def test_the_command_line_plans_releases_and_verifies(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path, conference())
    what = ["reviews.csv", "--attributes", "reviewers.csv", "--by", "arm", "--compare", "treated,control"]
    what += ["--public", "all", "--score-scale", "1,10"]
    planned = run("effect", *what, "--plan", "--epsilon", "2")
    assert planned.code == 0, planned.err
    assert [line.split()[:2] for line in planned.out.splitlines()[1:5]] == [
        ["epsilon", epsilon] for epsilon in ("0.3", "1", "2", "3")
    ]
    assert json.loads(run("effect", *what, "--plan", "--json", "--first-share", "0.3").out)["first_share"] == 0.3
    assert json.loads(run("effect", *what, "--plan", "--json", "--sizes", "45,45").out)["first_share"] == 0.5
    assert "--sizes must be 2 whole numbers" in run("effect", *what, "--plan", "--sizes", "45,20,25").err
    dry = run("effect", *what, "--epsilon", "1", "--dry-run")
    assert dry.code == 0, dry.err
    assert "nothing was drawn, charged or written" in dry.out
    assert "would be seen" in dry.out
    assert not (tmp_path / "reviews-effect").exists()
    document = json.loads(run("effect", *what, "--epsilon", "1", "--dry-run", "--json").out)
    assert (document["drawn"], document["charged"], document["plan"]["level"]) == (False, False, 0.9)
    assert run("effect", *what, "--dry-run").code == 2  # no budget
    made = run("effect", *what, "--epsilon", "1", "--randomised", "--title", "Treatment")
    assert made.code == 0, made.err
    assert "randomisation test" in made.out
    assert "no ledger is charged" in made.err
    assert (tmp_path / "reviews-effect" / "report.html").read_text(encoding="utf-8").count("<h1>Treatment</h1>") == 1
    assert run("verify", "reviews-effect", "--public", "public.csv", "--score-scale", "1,10").code == 0
    document = json.loads(run("effect", *what, "--epsilon", "1", "--limits=2,9", "-o", "other", "--json").out)
    assert document["low"] < document["estimate"] < document["high"]
    for arguments, message in (
        (("--epsilon", "1"), "already exists"),
        (("-o", "new"), "--epsilon"),
        (("--epsilon", "1", "--limits", "2", "-o", "new"), "--limits must look like"),
    ):
        refused = run("effect", *what, *arguments)
        assert refused.code == 2
        assert message in refused.err
    assert not (tmp_path / "new").exists()
    assert "person" not in made.out + made.err + planned.out


def test_every_question_of_the_tests_names_its_groups() -> None:
    for name, question in ASKED.items():
        made = pv.effect(conference(), epsilon=1.0, **question)
        assert made.groups == question.get("compare", ("same", "other")), name
        assert made.record_digest == weights_of(conference(), question).digest()


@pytest.mark.promise("P-EFFECT-2")
def test_a_promise_states_what_the_release_will_and_charges_nothing(tmp_path: Path) -> None:
    place = str(tmp_path / "budgets.db")
    pv.Ledger.create(place).open("venue", epsilon=2.0, unit="reviewer")
    history = pv.Ledger(place).history("venue")
    promise = pv.promise_effect(conference(), ledger=place, **asked())
    assert isinstance(promise.plan, pv.EffectPlan)
    assert pv.Ledger(place).history("venue") == history
    made = pv.effect(conference(), ledger=place, **asked())
    assert (promise.guarantee, promise.public, promise.mechanism) == (made.guarantee, made.public, made.mechanism)
    assert promise.quotes[0].cost == pytest.approx(1.0)
    assert promise.plan.rows() == pv.plan_effect(weights_of(conference(), asked()), epsilons=(1.0,)).rows()
    facts = dict(promise.facts())
    assert f"{promise.plan.smallest[0]:.3g}" in facts["precision"]
    assert facts["promise"] == made.guarantee.promise
    with pytest.raises(pv.BudgetError):
        pv.promise_effect(conference(), ledger=place, **asked(epsilon=1.5))
    assert "nothing was drawn" in promise._repr_html_()


@pytest.mark.promise("P-EFFECT-2")
@pytest.mark.parametrize(("other", "message"), REFUSED, ids=[message[:24] for _, message in REFUSED])
def test_a_promise_is_refused_as_the_release_would_be(other: dict[str, Any], message: str) -> None:
    with pytest.raises(pv.InputError, match=message):
        pv.promise_effect(conference(), **asked(**other))
