"""The page in a real browser: what a chair and a researcher do, and what an attacker cannot."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, FilePayload, Route, expect
from playwright.sync_api import Error as PlaywrightError

import peerveil as pv
from browser import Served, Visitor, check_access, chromium, program, served, visitor, wait_until
from peerveil.record.public_files import write_public
from peerveil.releases.release import FILES
from peerveil.simulation.conferences import synthetic_conference
from peerveil.web.labels import LABELS
from peerveil.web.work import PACKED

pytestmark = pytest.mark.skipif(
    program() is None, reason="Chromium is not installed (or its program is to be named in PEERVEIL_CHROMIUM)"
)

#: Everyone's names begin alike, so that one look finds any of them.
PERSON = "zqx-person"


def write_reviews(file: Path, reviewers: int = 12, seed: int = 1) -> pv.Reviews:
    conference = synthetic_conference(reviewers=reviewers, rng=np.random.default_rng(seed))
    rows = [
        f"{paper},{PERSON}-{who}@uni.example,{score:g}"
        for paper, who, score in zip(conference.paper, conference.reviewer, conference.score, strict=True)
    ]
    file.write_text("paper,reviewer,score\n" + "\n".join(rows) + "\n")
    return pv.read(file)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    ledger = pv.Ledger.create(str(folder / "budgets.db"))
    ledger.open("small", epsilon=1.5)
    return folder


@pytest.fixture(scope="module")
def site(home: Path) -> Iterator[Served]:
    (home / "tmp").mkdir()
    with served("--ledger", str(home / "budgets.db"), folder=home / "tmp") as found:
        yield found
    assert not list((home / "tmp").glob("peerveil-page-*")), "the private folder is removed"


@pytest.fixture
def guest(browser: Browser, site: Served) -> Iterator[Visitor]:
    with visitor(browser) as found:
        found.page.goto(site.address)
        found.page.wait_for_url(f"{site.home}/")
        yield found
        assert found.asked
        assert all(address.startswith((f"{site.origin}/", "blob:", "data:")) for address in found.asked)
        assert not found.complaints
        assert not any(PERSON in text for text in found.seen)


#: The width of a usual screen, at which no step is taller than two of 800.
WIDE, TWO_SCREENS = 1280, 1600


def go_on(guest: Visitor, button: str, to: str, *, checked: bool = True) -> None:
    if checked:
        check_access(guest)
        if (guest.page.viewport_size or {"width": 0})["width"] == WIDE:
            assert guest.page.evaluate("document.documentElement.scrollHeight") <= TWO_SCREENS
    guest.page.get_by_role("button", name=button, exact=True).click()
    guest.page.wait_for_url(re.compile(to))
    guest.look()


def to_the_promise(guest: Visitor, file: Path, *, epsilon: str, checked: bool = False, to: str = "/promise$") -> None:
    """From the beginning to the last look before a release; if checked, with a plan and a look at every page."""
    page = guest.page
    page.goto("/".join([*page.url.split("/")[:4], "chair"]))
    page.get_by_label("Drop the file here").set_input_files(file)
    page.wait_for_url(re.compile("/file$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("What is in the file")
    guest.look()
    page.get_by_label("Lowest", exact=True).fill("1")
    page.get_by_label("Highest").fill("10")
    go_on(guest, "Continue", "/public$", checked=checked)
    page.get_by_label("All scores").check()
    go_on(guest, "Continue", "/choices$", checked=checked)
    page.get_by_label("Epsilon", exact=True).fill(epsilon)
    if checked:
        go_on(guest, "Show the expected accuracy", "/choices#plan$")
        expect(page.locator(".plan")).to_contain_text(f"At epsilon {epsilon}, expected error of a mean: guaranteed ±")
        expect(page.locator(".plan svg[aria-label]")).to_be_visible()
        expect(page.get_by_label("Epsilon", exact=True)).to_have_value(re.compile(rf"^{epsilon}(\.0)?$"))
        check_access(guest)
    go_on(guest, "Compute the promise", to, checked=checked)


def release_now(guest: Visitor) -> None:
    guest.page.get_by_label("I have read this").check()
    guest.page.get_by_role("button", name="Release", exact=True).click()


def download(guest: Visitor, target: Path, name: str = r"-release\.zip$") -> dict[str, bytes]:
    with guest.page.expect_download() as waiting:
        guest.page.get_by_role("link", name="Download everything").click()
    assert re.search(name, waiting.value.suggested_filename), waiting.value.suggested_filename
    waiting.value.save_as(target)
    with zipfile.ZipFile(target) as packed:
        return {name.removeprefix("release/"): packed.read(name) for name in packed.namelist()}


@pytest.mark.slow
def test_a_chair_releases_and_a_second_release_that_overspends_is_refused(
    guest: Visitor, home: Path, tmp_path: Path
) -> None:
    page = guest.page
    check_access(guest)
    reviews = write_reviews(tmp_path / "reviews.csv")
    to_the_promise(guest, tmp_path / "reviews.csv", epsilon="1", checked=True)
    expect(page.locator(".promise")).to_contain_text("epsilon = 1 per reviewer (pure differential privacy)")
    expect(page.locator(".summary")).to_contain_text("budget of 'small' (per reviewer): 1.5 left now, 0.5 afterwards")
    expect(page.locator(".summary")).to_contain_text("public data alone ±")
    expect(page.locator(".promise")).to_contain_text("by at most a factor e^1 = 2.72")
    expect(page.locator(".accounts")).to_contain_text("epsilon 1.5 of 1.5 left")
    check_access(guest)
    release_now(guest)
    page.wait_for_url(re.compile("/result/"))
    for name in ("means", "shares"):
        page.wait_for_selector(f"[data-picture={name}][data-live=yes] svg[aria-label]")
    page.get_by_text("Charts of the noise").click()  # which folds the others up
    for name in ("refinement", "bounds"):
        page.wait_for_selector(f"[data-picture={name}][data-live=yes] svg[aria-label]")
    guest.look()
    check_access(guest)

    files = download(guest, tmp_path / "bundle.zip")
    assert set(files) == set(FILES)
    for name, data in files.items():
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_bytes(data)
        assert PERSON.encode() not in data
    made = pv.Release.load(tmp_path / "out")
    assert made.guarantee.epsilon == 1
    assert made.reviewers == reviews.reviewers
    weights = pv.weigh(reviews.public("all"))
    assert pv.refine(made, weights, estimator=made.estimator).values.tolist() == made.values.tolist()

    page.get_by_role("link", name="Read the report").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("How the reviewers rate")
    guest.look()
    check_access(guest)
    page.go_back()
    page.get_by_role("link", name="Ledger", exact=True).click()
    expect(page.locator(".card")).to_contain_text("epsilon 0.5 left of 1.5")
    expect(page.locator("tbody tr")).to_have_count(1)
    check_access(guest)

    to_the_promise(guest, tmp_path / "reviews.csv", epsilon="0.75", to=r"/choices\?failed=")
    expect(page.get_by_label("Epsilon", exact=True)).to_be_focused()
    refused = page.get_by_role("alert")
    expect(refused).to_contain_text(
        "the release costs epsilon 0.75, and of the budget of 'small' (reviewer) 0.5 of 1.5 is left; "
        "nothing was released"
    )
    guest.look()
    check_access(guest)
    assert len(pv.Ledger(str(home / "budgets.db")).history()) == 1


@pytest.mark.slow
def test_the_demo_works_by_keyboard_on_a_narrow_dark_screen(browser: Browser, site: Served) -> None:
    options = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark", "reduced_motion": "reduce"}
    with visitor(browser, **options) as guest:
        page = guest.page
        page.goto(site.address)
        page.wait_for_url(f"{site.home}/")
        check_access(guest)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.goto(f"{site.home}/chair")
        check_access(guest)
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent").startswith("Try it with"):
                break
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("/file$"))
        expect(page.locator(".facts")).to_contain_text("300")
        go_on(guest, "Continue", "/public$")
        page.get_by_label("All scores").focus()
        page.keyboard.press("Space")
        page.get_by_label("Some scores").check()
        assert page.get_by_label("Reviews per reviewer, if all have the same").is_visible()
        check_access(guest)
        page.get_by_label("No scores").check()
        assert not page.get_by_label("Reviews per reviewer, if all have the same").is_visible()
        page.get_by_label("All scores").check()
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("/choices$"))
        page.get_by_text("Advanced options").click()
        page.get_by_role("button", name="very cautious").click()
        expect(page.locator(".factor")).to_have_text("odds change by at most 1.35 times")
        check_access(guest)
        assert not guest.complaints


def stamped(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without time stamps, and without the digest of everything, of which the time is a part."""
    moment = (
        rb"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?|(?<=\"digest\": \")sha256:[0-9a-f]{64}(?=\"\n}\s*$)"
        rb"|(?<=\"sha256\": \")[0-9a-f]{64}"  # of files that hold the time
    )
    return {name: re.sub(moment, b"TIME", data) for name, data in files.items()}


@pytest.mark.slow
def test_a_researcher_refines_and_gets_what_the_command_line_gives(guest: Visitor, tmp_path: Path) -> None:
    page = guest.page
    reviews = write_reviews(tmp_path / "reviews.csv", seed=2)
    record = reviews.public("all")
    rows = [f"p{i},{';'.join(f'{x:g}' for x in row)}" for i, row in enumerate(record.rows())]
    (tmp_path / "scores.csv").write_text("paper,ratings\n" + "\n".join(rows) + "\n")
    noise = np.random.default_rng(3).laplace(scale=2.0, size=reviews.reviewers)
    noisy = "\n".join(map(str, (np.linspace(3, 8, reviews.reviewers) + noise).tolist()))
    (tmp_path / "pasted.txt").write_text(noisy + "\n")
    command = [
        "refine",
        "pasted.txt",
        "--public",
        "scores.csv",
        "--load",
        "4",
        "-o",
        "out",
        "--words",
        "By <b>them</b>.",
    ]
    subprocess.run([sys.executable, "-m", "peerveil", *command], cwd=tmp_path, check=True, capture_output=True)

    page.get_by_role("link", name="Refine", exact=True).click()
    check_access(guest)
    page.get_by_role("button", name="Refine", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Give “The noisy release”")
    expect(page.get_by_label("The noisy release")).to_be_focused()
    page.get_by_text("Paste the numbers instead").click()
    page.get_by_label("Numbers", exact=True).fill(noisy)
    page.get_by_label("The file of public scores").set_input_files(tmp_path / "scores.csv")
    page.get_by_label("Reviews per reviewer, if all have the same").fill("4")
    page.get_by_label("The noise is not known").check()
    page.get_by_label("How it was made private").fill("By <b>them</b>.")
    check_access(guest)
    page.get_by_role("button", name="Refine", exact=True).click()
    page.wait_for_url(re.compile("/result/"))
    expect(page.locator(".promise")).to_contain_text("By <b>them</b>.")
    check_access(guest)
    mine = download(guest, tmp_path / "bundle.zip", r"^pasted-refined\.zip$")
    theirs = {name: (tmp_path / "out" / name).read_bytes() for name in FILES}
    assert stamped(mine) == stamped(theirs)
    written = {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert set(mine) == written

    page.get_by_role("link", name="Refine with other settings").click()
    page.get_by_label("The noise is known").check()
    page.get_by_label("Scale of the noise").fill("2")
    page.get_by_role("button", name="Refine", exact=True).click()
    page.wait_for_url(re.compile("/result/"))
    page.wait_for_selector("[data-picture=comparison][data-live=yes] svg")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator("tbody")).to_contain_text("safe")
    check_access(guest)


BROKEN = "paper,reviewer,score\np,ann,3\np,bob,excellent\n"


@pytest.mark.slow
def test_a_broken_file_shows_the_command_lines_words(guest: Visitor, tmp_path: Path) -> None:
    page = guest.page
    (tmp_path / "broken.csv").write_text(BROKEN)
    command = [sys.executable, "-m", "peerveil", "inspect", "broken.csv"]
    inspected = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    words = inspected.stderr.strip().split("peerveil: ")[-1]  # after the headings
    assert inspected.returncode == 2
    assert "broken.csv, line 3" in words
    page.goto(f"{page.url}chair")
    page.get_by_label("Drop the file here").set_input_files(tmp_path / "broken.csv")
    alert = page.get_by_role("alert")
    expect(alert).to_be_visible()
    option, label = "--symbols 'D<C<B<A'", f"“{LABELS['symbols']}”: D<C<B<A"  # each front names its own field
    assert option in words
    assert alert.inner_text() == words.replace(option, label)
    expect(page.get_by_role("heading", level=1)).to_have_text("What is in the file")
    field = page.get_by_label(LABELS["symbols"])
    expect(field).to_be_focused()  # it is folded away otherwise
    expect(field).to_have_attribute("aria-invalid", "true")
    check_access(guest)


ASK_AGAIN = """async (address) => (await fetch(address, {
  method: "POST", body: "read=yes", headers: {"content-type": "application/x-www-form-urlencoded"}
})).url"""


def cancelled_after_the_charge(guest: Visitor, home: str, place: str, file: Path, *, look: bool) -> bool:
    """Release, and cancel once it was charged; false if the release had ended by then, as on a busy machine.

    A look at the page for faults takes long there, longer than the release waits for its ledger.
    """
    before = len(pv.Ledger(place).history())
    to_the_promise(guest, file, epsilon="1")
    case = guest.page.url.split("/")[-2]
    heading = guest.page.get_by_role("heading", level=1)
    with closing(sqlite3.connect(place)) as writer:
        writer.execute("BEGIN IMMEDIATE")  # the charge waits
        release_now(guest)
        guest.page.wait_for_url(re.compile("/work/"))
        writer.rollback()
        wait_until(lambda: len(pv.Ledger(place).history()) > before)
        writer.execute("BEGIN IMMEDIATE")  # what follows the charge waits, so that the release does not end at once
        try:
            again = guest.page.evaluate(ASK_AGAIN, f"{home}/chair/{case}/release")
            assert again == guest.page.url, "asked twice, it is made once"
            if look:
                check_access(guest)
            guest.page.get_by_role("button", name="Cancel").click(timeout=60_000)
            expect(heading).to_have_text(re.compile("Cancelled|Released"))
        except (PlaywrightError, AssertionError):
            writer.rollback()
            guest.page.wait_for_url(re.compile("/result/"))  # where a release leads that has ended; otherwise it fails
        writer.rollback()
    return heading.inner_text() == "Cancelled"


@pytest.mark.slow
def test_cancelling_after_the_charge_says_that_it_stands(browser: Browser, tmp_path: Path) -> None:
    place = str(tmp_path / "b.db")
    pv.Ledger.create(place).open("big", epsilon=1000)
    file = tmp_path / "reviews.csv"
    write_reviews(file, reviewers=4000)
    with served("--ledger", place, folder=tmp_path) as site, visitor(browser) as guest:
        guest.page.goto(site.address)
        guest.page.wait_for_url(f"{site.home}/")
        tries, packed = 1, set(tmp_path.rglob(PACKED))
        while not cancelled_after_the_charge(guest, site.home, place, file, look=tries == 1):
            tries, packed = tries + 1, set(tmp_path.rglob(PACKED))
        expect(guest.page.locator("main")).to_contain_text("was charged (epsilon 1 of 'big')")
        check_access(guest)
        assert set(tmp_path.rglob(PACKED)) <= packed
    assert len(pv.Ledger(place).history()) == tries


ATTACK = """<!doctype html><title>attack</title>
<form id=f method=post action="{home}/chair/{case}/release"><input name=read value=yes></form>
<iframe src="{home}/chair/{case}/promise"></iframe>
<script>
const tries = [
  ["POST", "/chair/{case}/release", "read=yes"], ["PUT", "/chair?name=x.csv", "paper,reviewer,score"],
  ["POST", "/chair/demo", ""], ["GET", "/chair/{case}/promise", null], ["GET", "/ledger", null],
];
(async () => {{
  const found = [];
  for (const [method, path, body] of tries) {{
    for (const mode of ["cors", "no-cors"]) {{
      try {{
        const headers = body === null ? {{}} : {{"content-type": "application/x-www-form-urlencoded"}};
        const options = {{method, body, mode, headers, credentials: "include"}};
        const answer = await fetch("{home}" + path, options);
        found.push([method, path, mode, answer.type, (await answer.text()).length]);
      }} catch (error) {{ found.push([method, path, mode, "refused", 0]); }}
    }}
  }}
  document.title = JSON.stringify(found);
}})();
</script>"""


@pytest.mark.promise("P-PAGE-3")
@pytest.mark.slow
def test_a_page_of_another_origin_cannot_release(guest: Visitor, site: Served, home: Path, tmp_path: Path) -> None:
    """Even from another port of this machine, which browsers take for the same site, and with all addresses known."""
    page = guest.page
    write_reviews(tmp_path / "reviews.csv", seed=4)
    to_the_promise(guest, tmp_path / "reviews.csv", epsilon="0.1")
    case = page.url.split("/")[-2]
    before = pv.Ledger(str(home / "budgets.db")).history()

    cookies: list[str] = []

    class Attacker(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookies.append(self.headers.get("cookie", ""))
            body = ATTACK.format(home=site.home, case=case).encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Attacker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    statuses: dict[str, set[int]] = {}
    try:
        for host in ("127.0.0.1", "localhost"):
            other = guest.context.new_page()
            other.on("response", lambda r: statuses.setdefault(f"{r.request.method} {r.url}", set()).add(r.status))
            other.goto(f"http://{host}:{server.server_port}/")
            wait_until(lambda page=other: page.title().startswith("["))
            results = json.loads(other.title())
            assert len(results) == 10
            assert all(kind in ("refused", "opaque") and not length for *_, kind, length in results), results
            other.evaluate("() => { setTimeout(() => document.getElementById('f').submit()) }")
            expect(other.locator("body")).to_contain_text(re.compile("another page|whole address"))
            other.close()
    finally:
        server.shutdown()
        server.server_close()
    assert cookies, "the attacker was asked"
    assert not any(cookies), "and got none of ours"
    asked = {key: codes for key, codes in statuses.items() if site.origin in key}
    assert asked
    assert all(codes <= {403, 405, 421} for codes in asked.values()), asked
    assert pv.Ledger(str(home / "budgets.db")).history() == before
    guest.asked[:] = [a for a in guest.asked if f":{server.server_port}/" not in a]
    guest.complaints.clear()
    release_now(guest)  # while the page itself can
    page.wait_for_url(re.compile("/result/"))
    assert len(pv.Ledger(str(home / "budgets.db")).history()) == len(before) + 1


@pytest.mark.slow
def test_our_own_files_are_refined_verified_and_compared_without_a_question(guest: Visitor, tmp_path: Path) -> None:
    page = guest.page
    reviews = write_reviews(tmp_path / "reviews.csv", seed=5)
    write_public(reviews.public("all"), tmp_path / "public.csv")
    for year in ("2025", "2026"):
        pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0)).save(tmp_path / year)
        shutil.make_archive(str(tmp_path / year), "zip", tmp_path / year)

    page.get_by_role("link", name="Refine", exact=True).click()
    expect(page.get_by_label("Scale of the noise")).to_be_visible()
    files = [tmp_path / "2025" / "release.csv", tmp_path / "2025" / "release.json", tmp_path / "public.csv"]
    page.get_by_label("The noisy release").set_input_files(files)
    expect(page.locator("[data-study-drop=public_file]")).to_contain_text("public.csv")
    expect(page.get_by_label("Scale of the noise")).not_to_be_visible()
    page.get_by_role("button", name="Refine", exact=True).click()
    page.wait_for_url(re.compile("/result/"))
    expect(page.locator(".promise")).to_contain_text("epsilon = 1 per reviewer")

    page.get_by_role("link", name="Verify", exact=True).click()
    page.locator("#release").set_input_files(tmp_path / "2025.zip")
    page.get_by_label("The file of public scores").set_input_files(tmp_path / "public.csv")
    check_access(guest)
    page.get_by_role("button", name="Verify", exact=True).click()
    page.wait_for_url(re.compile("/result/"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Verified")
    check_access(guest)

    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_label("The releases").set_input_files([tmp_path / "2025.zip", tmp_path / "2026.zip"])
    page.wait_for_url(re.compile("/compare/"))
    page.get_by_label("Title of release 1").fill("last year")
    check_access(guest)
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url(re.compile("/result/"))
    expect(page.locator(".card").first).to_contain_text("last year")
    expect(page.locator("svg[aria-label]").last).to_be_visible()
    check_access(guest)


#: The start of a release.json, by which one is recognised.
RELEASE: FilePayload = {"name": "release.json", "mimeType": "application/json", "buffer": b'{"schema_version": 2}'}


@pytest.mark.slow
def test_a_file_chosen_before_the_script_is_loaded_is_uploaded(guest: Visitor) -> None:
    page = guest.page
    held: list[Route] = []
    page.route("**/static/page.js", lambda route: held.append(route))  # noqa: PLW0108 - a builtin is refused
    page.goto(f"{page.url}verify", wait_until="commit")
    page.locator("#release").set_input_files(RELEASE)
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    state = page.locator("[data-study-drop=release] .drop-state")
    expect(state).to_have_text("release.json")
    page.unroute_all()

    sent = [address for address in guest.asked if "role=release" in address]
    page.get_by_role("link", name="Refine", exact=True).click()
    page.wait_for_url(re.compile("/researcher$"))
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Verify a release")
    page.wait_for_load_state()
    assert [address for address in guest.asked if "role=release" in address] == sent, "what is restored is not new"


@pytest.mark.slow
def test_an_upload_is_tried_again_and_a_form_does_not_go_without_it(guest: Visitor) -> None:
    page = guest.page
    page.goto(f"{page.url}verify")
    asked: list[Route] = []

    def upload(route: Route) -> None:
        asked.append(route)
        if len(asked) == 2:
            route.continue_()
        elif len(asked) in (1, 3):  # the fourth is kept waiting
            route.abort("connectionreset")

    page.route("**/researcher?*", upload)
    release, state = page.locator("#release"), page.locator("[data-study-drop=release] .drop-state")
    release.set_input_files(RELEASE)
    expect(state).to_have_text("release.json")
    assert len(asked) == 2
    release.set_input_files(RELEASE)
    page.get_by_role("button", name="Verify", exact=True).click()
    while len(asked) < 4:
        page.wait_for_timeout(20)
    asked[3].abort("connectionreset")
    expect(state).to_contain_text("Peerveil does not respond")
    expect(release).to_be_focused()
    assert re.search(r"/verify/[0-9a-f]+$", page.url), "the study of the first upload, and no answer"
    page.unroute_all()
    release.set_input_files(RELEASE)
    page.get_by_role("button", name="Verify", exact=True).click()
    page.wait_for_url(re.compile(r"/verify/\w+(\?failed|/result/)"))


#: Time limits of requests pass fifty times as fast.
HURRY = "const limit = AbortSignal.timeout; AbortSignal.timeout = (time) => limit.call(AbortSignal, time / 50);"


@pytest.mark.slow
def test_progress_is_asked_for_again_where_no_answer_comes(guest: Visitor, site: Served) -> None:
    page = guest.page
    page.add_init_script(HURRY)
    at = site.home.removeprefix(site.origin)
    head = f'<!doctype html><html data-at="{at}"><script src="{at}/static/page.js" defer></script>'
    working = f'<p data-work="{at}/work/x"><span data-step>Begun</span><span data-seconds></span></p>'
    opened: list[Route] = []
    asked: list[Route] = []

    def work(route: Route) -> None:
        opened.append(route)
        if len(opened) != 2:  # the first way on is lost as well
            body = working if len(opened) == 1 else "<h1>Done</h1>"
            route.fulfill(body=head + body, content_type="text/html")

    def state(route: Route) -> None:
        asked.append(route)
        if len(asked) > 1:  # the first question is never answered
            route.fulfill(json={"state": "done", "step": "Ended", "seconds": 1})

    page.route("**/work/x", work)
    page.route("**/work/x/state", state)
    page.goto(f"{site.home}/work/x")
    expect(page.get_by_role("heading", level=1)).to_have_text("Done")
    assert len(asked) > 2
