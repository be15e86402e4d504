"""The page without a browser: who may ask, what is kept where, and what work says."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args
from urllib.parse import SplitResult, urlencode, urlsplit

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from asked import HOST, KEYS, PORT, REVIEWS, Answer, AtOnce, Chair, answered
from marks import slow
from peerveil.app.ledger import absolute_place, charges_since, releases_so_far
from peerveil.app.parsing import release_arguments
from peerveil.app.requests import ReleaseRequest
from peerveil.cli import main
from peerveil.cli.commands.serve import serve
from peerveil.inference.verdict import PROMISES
from peerveil.private import noise
from peerveil.record.public_files import write_public
from peerveil.releases.release import FILES
from peerveil.web import guard, jobs, serving, work, workspace
from peerveil.web.app import create_app
from peerveil.web.cases import Case, loads_of, number, whole
from peerveil.web.guard import Guard, Secrets
from peerveil.web.jobs import Job, Jobs, State
from peerveil.web.labels import Problem, label
from peerveil.web.page import Page
from peerveil.web.serving import connections, listening
from peerveil.web.work import PACKED, Task
from peerveil.web.workspace import Workspace, safe_name
from spreadsheets import Rows, by_openpyxl

COOKIE = f"peerveil-{PORT}={KEYS.session}"

#: Seconds for what happens at once, unless the machine is very busy.
LONG = 600


def ask(
    method: str = "GET",
    path: str = "/ledger",
    *,
    query: str = "",
    body: bytes = b"",
    kind: str = "http",
    at: str = KEYS.at,
    **headers: str | None,
) -> Answer:
    """Ask a guarded application that only says that it was reached."""
    reached = False

    async def inside(_scope: Any, receive: Any, send: Any) -> None:
        nonlocal reached
        reached = True
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})

    given = {"cookie": COOKIE} | headers
    guarded = Guard(inside, port=PORT, keys=KEYS)
    answer = asyncio.run(answered(guarded, method, f"{at}{path}?{query}", body, kind=kind, **given))
    return replace(answer, reached=reached)


ORIGIN = f"http://{HOST}"


def test_the_page_itself_may_ask() -> None:
    assert ask().reached
    assert ask(host=f"localhost:{PORT}").reached
    assert ask(sec_fetch_site="same-origin").reached
    assert ask(sec_fetch_site="none").reached
    assert ask("POST", origin=ORIGIN).reached
    assert ask("PUT", origin=ORIGIN, sec_fetch_site="same-origin").reached


@pytest.mark.promise("P-PAGE-3")
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:9", "", None, f"evil@{HOST}"])
def test_another_host_is_refused(host: str | None) -> None:
    """A site may point its own name at this machine; its pages would then be of the same origin."""
    answer = ask(host=host)
    assert (answer.status, answer.reached) == (421, False)
    assert not ask("POST", host=host, origin=f"http://{host}").reached


@pytest.mark.promise("P-PAGE-3")
@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", f"https://{HOST}", f"http://localhost:{PORT}", "http://127.0.0.1:9"]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_change_from_another_origin_is_refused(method: str, origin: str | None) -> None:
    assert (ask(method, origin=origin).status, ask(method, origin=origin).reached) == (403, False)


@pytest.mark.promise("P-PAGE-4")
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_page_makes_the_browser_ask_is_refused(site: str) -> None:
    assert ask(sec_fetch_site=site).status == 403
    assert ask("POST", origin=ORIGIN, sec_fetch_site=site).status == 403


@pytest.mark.promise("P-PAGE-2")
@pytest.mark.parametrize(
    "cookie", [None, "", "peerveil-8737=", f"peerveil-1={KEYS.session}", f"peerveil-8737={KEYS.token}", "a;b;=;\x01"]
)
def test_without_the_cookie_nothing_is_answered(cookie: str | None) -> None:
    for method in ("GET", "POST"):
        answer = ask(method, cookie=cookie, origin=ORIGIN)
        assert (answer.status, answer.reached) == (403, False)


@pytest.mark.parametrize(
    "cookies",
    ['prefs={{"a": 1}}; {}', "a b=c; {}", "{}; peerveil-8737=another", "peerveil-8737=another;{}", "\xe9; {};;="],
)
def test_cookies_of_others_do_not_hide_ours(cookies: str) -> None:
    """All programs of a machine share its cookies, and some write strange ones."""
    assert ask(cookie=cookies.format(COOKIE)).reached
    assert not ask(cookie=cookies.format("peerveil-8737=x")).reached


@pytest.mark.promise("P-PAGE-2")
def test_the_secret_address_gives_the_cookie_and_nothing_else_does() -> None:
    entered = ask(path="/", query=f"token={KEYS.token}", cookie=None, sec_fetch_site="cross-site")
    assert entered.status == 200
    assert not entered.reached
    cookie = entered.headers["set-cookie"]
    assert COOKIE in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert cookie.endswith(f"; Path={KEYS.at}/")
    for query in ("token=", "token=x", f"token={KEYS.session}", f"token={KEYS.token}x", "", f"nekot={KEYS.token}"):
        assert ask(path="/", query=query, cookie=None).status == 403
    for changed in ({"path": "/chair"}, {"at": ""}, {"method": "POST"}, {"host": "evil.example"}):
        refused = ask(**({"path": "/", "query": f"token={KEYS.token}", "cookie": None} | changed))  # type: ignore[arg-type]
        assert "set-cookie" not in refused.headers
        assert refused.status in (403, 421)
    made = Secrets()
    assert len({made.token, made.session, made.place, *Secrets().__dict__.values()}) == 6


@pytest.mark.promise("P-PAGE-2")
@pytest.mark.parametrize("at", ["", "/another", f"{KEYS.at}x", f"/{KEYS.at}", f"/x{KEYS.at}"])
def test_elsewhere_on_this_machine_the_cookie_opens_nothing(at: str) -> None:
    """Browsers send cookies to every port, but only below their path: it must not be one that others can name."""
    for path in ("/", "/ledger", "/static/style.css"):
        answer = ask(path=path, at=at)
        assert (answer.status, answer.reached) == (403, False)


def test_secrets_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    monkeypatch.setattr("peerveil.web.guard.secrets.compare_digest", lambda a, b: compared.append((a, b)))
    ask(path="/", query="token=guess", cookie=f"peerveil-{PORT}=try")
    assert {(b"guess", KEYS.token.encode()), (b"try", KEYS.session.encode())} <= set(compared)


@pytest.mark.promise("P-PAGE-5")
def test_every_answer_allows_nothing_from_elsewhere() -> None:
    for answer in (ask(), ask(cookie=None), ask(host="evil.example"), ask(path="/", query=f"token={KEYS.token}")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not set(policy.replace(";", " ").split()) & {"*", "http:", "https:"}
        for part in ("frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'", "script-src 'self'"):
            assert part in policy.split("; ")
        assert {
            "x-frame-options": "DENY",
            "x-content-type-options": "nosniff",
            "cache-control": "no-store",
            **dict.fromkeys(("cross-origin-opener-policy", "cross-origin-resource-policy"), "same-origin"),
            "referrer-policy": "same-origin",
        }.items() <= answer.headers.items()
        assert "access-control-allow-origin" not in answer.headers


def test_too_much_is_refused_whatever_its_sender_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "FORM_LIMIT", 100)
    monkeypatch.setattr(guard, "FILE_LIMIT", 1000)
    assert ask("POST", origin=ORIGIN, body=100 * b"x", content_length="100").reached
    assert ask("POST", origin=ORIGIN, content_length="101").status == 413
    assert ask("PUT", origin=ORIGIN, content_length="1000").reached
    assert ask("PUT", origin=ORIGIN, content_length="1001").status == 413
    for length in ("-1", "x", "1e3"):
        assert ask("PUT", origin=ORIGIN, content_length=length).status == 413
    with pytest.raises(guard.TooLarge):
        ask("POST", origin=ORIGIN, body=101 * b"x", content_length="5")
    with pytest.raises(guard.TooLarge):
        ask("PUT", origin=ORIGIN, body=1001 * b"x", transfer_encoding="chunked")


@pytest.mark.promise("P-PAGE-6")
def test_files_may_be_as_large_as_the_page_and_the_documents_say() -> None:
    """Without a limit, one upload could fill the disk."""
    folder = Path(__file__).parents[2]
    for file in ("src/peerveil/web/templates/chair_start.html", "docs/page.md"):
        (stated,) = re.findall(r"[Aa]t most (\d+) MB", (folder / file).read_text(encoding="utf-8"))
        most = int(stated) * 1024 * 1024
        assert ask("PUT", origin=ORIGIN, content_length=str(most)).reached
        assert ask("PUT", origin=ORIGIN, content_length=str(most + 1)).status == 413


def test_there_are_no_sockets_of_other_kinds() -> None:
    assert not ask(kind="websocket").reached


@given(st.text(max_size=300))
def test_names_of_files_stay_in_their_folder(name: str) -> None:
    kept = safe_name(name)
    assert 1 <= len(kept) <= 100
    assert Path(kept).name == kept
    assert not kept.startswith(".")
    assert not set(kept) & set("\0/\\")


async def parts(*given: bytes) -> AsyncIterator[bytes]:
    for part in given:
        yield part


@pytest.mark.promise("P-PAGE-6")
def test_the_workspace_is_private_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    space = Workspace()
    assert space.folder.parent == tmp_path
    assert space.folder.stat().st_mode & 0o077 == 0
    place = space.new()
    file = asyncio.run(space.save(place, "../a b.csv", parts(b"one", b"two")))
    assert file.read_bytes() == b"onetwo"
    assert file.resolve().parent == place.resolve()
    monkeypatch.setattr(workspace, "TOTAL_LIMIT", 10)
    with pytest.raises(pv.InputError, match="too much space"):
        asyncio.run(space.save(space.new(), "b.csv", parts(b"four", b"five")))
    assert not list(space.folder.rglob("b.csv"))
    space.remove()
    assert not list(tmp_path.iterdir())


@pytest.mark.promise("P-PAGE-6")
def test_what_a_killed_page_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / f"peerveil-page-{ended.pid}-x" / "a").mkdir(parents=True)
    (tmp_path / f"peerveil-page-{os.getpid()}-x").mkdir()
    (tmp_path / "peerveil-page-1-x").mkdir()  # another's, perhaps, but it lives
    (tmp_path / "peerveil-page-nobody").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / f"peerveil-page-{ended.pid}-link").symlink_to(tmp_path / "other")
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: 54321)
        workspace.remove_left_over()
    assert len(list(tmp_path.iterdir())) == 6, "what is another user's stays"
    space = Workspace()
    kept = {path.name for path in tmp_path.iterdir()} - {space.folder.name}
    assert f"peerveil-page-{ended.pid}-x" not in kept
    assert len(kept) == 5


OPTIONS = {"file": "reviews.csv", "public": "all", "quantity": "ratings", "unit": "reviewer"}
OPTIONS |= {"mechanism": "laplace", "epsilon": 1.0}  # type: ignore[dict-item]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reviews.csv").write_text(REVIEWS)
    return tmp_path


def do(kind: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[str, Any]:
    monkeypatch.chdir(folder)
    steps: list[str] = []
    output = str(folder / "made") if kind in ("release", "refine") else ""  # as the page asks for them
    task = Task(kind=kind, folder=str(folder), options=OPTIONS | options, output=output)
    outcome = work._outcome(task, steps.append)
    assert steps or outcome[0] == "failed"
    return outcome


def test_the_zip_file_holds_what_was_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, result = do("release", folder, monkeypatch)
    assert kind == "done", result
    assert result["summary"] == "epsilon = 1 per reviewer (pure differential privacy)"
    made = folder / "made"
    with zipfile.ZipFile(made / PACKED) as packed:
        assert {name.removeprefix("release/") for name in packed.namelist()} == set(FILES)
        assert all(packed.read(f"release/{name}") == (made / "bundle" / name).read_bytes() for name in FILES)


def test_a_promise_draws_and_spends_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(noise.Prepared, "draw", drawn)
    ledger = pv.Ledger.create(str(folder / "b.db"))
    ledger.open("x", epsilon=5)
    kind, result = do("promise", folder, monkeypatch, ledger=str(folder / "b.db"))
    assert kind == "done", result
    claim = pv.Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    assert (result["summary"], result["promise"]) == (claim.summary, claim.promise)
    assert float(result["noise"]) > 0
    assert not ledger.history()
    _, other = do("promise", folder, monkeypatch, mechanism="gaussian", delta=1e-6)
    assert "Gaussian differential privacy" in other["summary"]


@pytest.mark.slow
@pytest.mark.usefixtures("quick_plans")
def test_a_plan_draws_and_spends_nothing_and_can_be_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for draw in ("draw", "draw_counts"):
            patch.setattr(noise.Prepared, draw, lambda *_: pytest.fail("noise was drawn"))
        kind, result = do("plan", folder, patch)
    assert kind == "done", result
    assert any(words.startswith("At epsilon 1, expected error of a mean: guaranteed ±") for words in result["answer"])
    assert "public data alone" in result["svg"].casefold()
    assert result["svg"].startswith("<svg")
    state, promised = do("promise", folder, monkeypatch, mechanism="")
    assert state == "done", promised
    made, released = do("release", folder, monkeypatch, mechanism="")
    assert made == "done", released
    assert promised["choice"] in released["notes"]
    assert f"and the estimator {released['estimator']}, chosen from public data: " in promised["choice"]
    assert promised["accuracy"] == released["accuracy"] == PROMISES[released["estimator"]]


@pytest.mark.parametrize(
    "options",
    [
        slow({"mechanism": "", "estimator": "safe", "epsilon": 0.5}),
        slow({"mechanism": ""}),
        slow({"mechanism": "histogram", "bins": 3}),
    ],
    ids=["estimator", "chosen", "named"],
)
def test_plan_and_promise_state_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    planned, promised = (do(kind, folder, monkeypatch, **options)[1] for kind in ("plan", "promise"))
    *answer, verdict = planned["answer"]
    assert verdict == promised["verdict"]["sentence"]
    made, alone = promised["errors"]
    assert any(f" {made}" in words for words in answer)
    assert f"Public data alone, without any release: {alone} points." in answer
    assert any("the noise that you name" in words for words in answer) is bool(options["mechanism"])
    budgets = {0.3, 1.0, 3.0} - {options.get("epsilon", 1.0)}
    assert all(any(words.startswith(f"At epsilon {e:g},") for words in planned["others"]) for e in budgets)


def test_a_plan_for_other_choices_says_so(chair: Chair) -> None:
    def shown() -> str:
        return chair.ask("GET", f"{chair.here}/choices").body.decode()

    assert chair.choose("1", "/plan") == 303
    assert "The plan." in shown()
    assert "for other choices" not in shown()
    chair.post("/choices", quantity="ratings", unit="reviewer", mechanism="laplace", epsilon="1", title="Another title")
    assert "for other choices" not in shown(), "it is the same whatever the report is called"
    chair.choose("2")
    assert "for other choices" in shown()


@pytest.mark.promise("P-KEPT-8")
def test_internal_errors_tell_nothing_private(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError("ann gave 3 to p1")

    monkeypatch.setattr("peerveil.private.inspection.inspect", fails)
    state, problem = do("inspect", folder, monkeypatch)
    words = problem.words
    assert state == "failed"
    assert "ann" not in words
    assert words.startswith("internal error (ValueError in test_page.py, line")


def test_work_does_not_bring_back_the_folder_of_a_page_that_has_ended(tmp_path: Path) -> None:
    (tmp_path / "noisy.csv").write_text("1.0\n2.5\n2.0\n4.5\n")
    (tmp_path / "public.csv").write_text("paper,ratings\na,1;5\nb,2;2\nc,4;5\nd,3;1\n")
    options = {"noisy": "noisy.csv", "public": "public.csv", "load": 2, "noise_scale": 1.0, "law": "known"}
    task = Task(kind="refine", folder=str(tmp_path), options=options, output=str(tmp_path / "gone" / "made-x"))
    state, problem = work._outcome(task, lambda _: None)
    assert state == "failed"
    assert "made-x cannot be written" in problem.words
    assert not (tmp_path / "gone").exists()
    there = replace(task, output=str(tmp_path / "made-x"))
    assert work._outcome(there, lambda _: None)[0] == "done"


def test_packed_files_are_the_same_bytes_every_time(tmp_path: Path) -> None:
    (tmp_path / "in" / "figures").mkdir(parents=True)
    (tmp_path / "in" / "b").write_text("b")
    (tmp_path / "in" / "figures" / "a").write_text("a")
    for name in ("one.zip", "two.zip"):
        work.pack(tmp_path / "in", tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


@pytest.mark.slow
def test_work_in_processes_is_followed_cancelled_and_lost(folder: Path) -> None:
    place = Jobs()
    ended: list[State] = []

    def then(_: Job, state: State) -> None:
        ended.append(state)

    def begin(kind: Any = "inspect", **options: Any) -> Job:
        task = Task(kind=kind, folder=str(folder), options=OPTIONS | options)
        return place.start(task, title="t", ahead="/a", back="/b", then=then)

    try:
        good = begin()
        assert good.finished.wait(LONG)
        assert good.state == "done"
        assert good.result["facts"]["reviewers"] == 8
        bad = begin(file="none.csv")
        assert bad.finished.wait(LONG)
        assert bad.state == "failed"
        assert "none.csv" in bad.message
        stopped = begin()
        place.cancel(stopped.id)
        assert stopped.finished.wait(LONG)
        assert stopped.state == "cancelled"
        place.cancel(stopped.id)  # once more does no harm
        lost = begin()
        worker = lost.worker
        assert worker is not None
        worker.process.kill()
        assert lost.finished.wait(LONG)
        assert lost.state == "failed"
        assert "lack of memory" in lost.message
        assert ended == ["done", "failed", "cancelled", "failed"]
    finally:
        place.close()


def test_not_everything_runs_at_once(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    class Waiting:
        def __init__(self) -> None:
            self.process = self
            self.pipe = self
            self._end = threading.Event()

        def send(self, _: object) -> None:
            pass

        def recv(self) -> None:
            self._end.wait()
            raise EOFError

        def terminate(self) -> None:
            self._end.set()

        end = terminate

    monkeypatch.setattr(jobs, "Worker", Waiting)
    place = Jobs()
    task = Task(kind="inspect", folder=str(folder))
    started = [place.start(task, title="t", ahead="/", back="/") for _ in range(3)]
    with pytest.raises(pv.PeerveilError, match="running already"):
        place.start(task, title="t", ahead="/", back="/")
    place.close()
    assert all(job.finished.wait(LONG) for job in started)


def test_what_is_said_about_a_cancelled_release(tmp_path: Path) -> None:
    assert not charges_since(None, frozenset(), quantity="ratings", unit="reviewer", spell=label)
    place = str(tmp_path / "b.db")
    ledger = pv.Ledger.create(place)
    ledger.open("x", epsilon=5)
    released = {"quantity": "ratings", "unit": "reviewer"}
    before = releases_so_far(place)
    assert "not charged" in charges_since(place, before, **released, spell=label)
    claim = pv.Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    ledger.charge("x", lambda _: claim, quantity="ratings", unit="reviewer", mechanism=pv.Laplace(scale=1.0))
    assert "charge stands" in charges_since(place, before, **released, spell=label)
    assert "not charged" in charges_since(place, before, **released | {"quantity": "miscalibration"}, spell=label)
    assert "not charged" in charges_since(place, releases_so_far(place), **released, spell=label)
    Path(place).unlink()
    assert "not known whether" in charges_since(place, before, **released, spell=label)


def test_forms_say_numbers_or_are_refused() -> None:
    assert number({"epsilon": ""}, "epsilon") is None
    for text in ("x", "nan", "inf", "1,5"):
        with pytest.raises(pv.InputError, match=r"^epsilon must be a number"):
            number({"epsilon": text}, "epsilon")
    with pytest.raises(pv.InputError, match="whole number"):
        whole({"load": "1.5"}, "load")
    assert loads_of({"load": "4", "loads": " ", "reviewers": ""}) == {"load": 4}


def test_loads_are_stated_for_a_file_only(tmp_path: Path) -> None:
    case = Case(tmp_path, answers={"public": "file", "load": 2}, files={"file": "r.csv"})
    with pytest.raises(pv.InputError, match="or say that all scores or none are public"):
        case.options()
    case.files["public_file"] = "public_file/p.csv"
    assert case.options() == {"public": "public_file/p.csv", "load": 2, "file": "r.csv"}
    case.answers["public"] = "all"
    assert case.options() == {"public": "all", "file": "r.csv"}


@pytest.mark.parametrize("name", ["all", "none"])
def test_a_file_of_public_scores_is_a_file_whatever_its_name(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a chair who shows a few scores would be taken to show all of them."""
    (folder / name).write_text("paper,score\n" + 24 * "p0,?\n")
    case = Case(folder, answers=OPTIONS | {"public": "file"}, files={"file": "reviews.csv", "public_file": name})
    state, problem = do("promise", folder, monkeypatch, **case.options())
    assert state == "failed"
    assert "loads" in problem.words


@pytest.mark.promise("P-PAGE-1")
def test_the_page_binds_to_this_machine_only() -> None:
    with listening(0) as door:
        assert door.getsockname()[0] == "127.0.0.1"
        with pytest.raises(pv.OutputError, match="cannot be used"):
            listening(door.getsockname()[1])


def test_the_page_without_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peerveil.web.serving", None)
    with pytest.raises(pv.InputError, match=r"pip install 'peerveil\[web\]'"):
        serve()


def test_a_ledger_that_cannot_be_there_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(jobs, "Worker", lambda: pytest.fail("a process was started"))
    monkeypatch.setattr(sys, "argv", ["peerveil", "serve", "--no-browser", "--ledger", str(tmp_path / "no" / "b.db")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert "there is no ledger" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def wait_until_it_answers(host: str, port: int) -> None:
    """Wait until a page serves, which is a little after it has printed its address."""
    with socket.create_connection((host, port), timeout=LONG) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: elsewhere\r\n\r\n")
        assert line.recv(2**16).startswith(b"HTTP/1.1 421")


def start_page(folder: Path) -> tuple[subprocess.Popen[str], SplitResult]:
    """A page in its own process, whose private folder is in the given one, and its address."""
    command = [sys.executable, "-m", "peerveil", "serve", "--no-browser", "--port", "0"]
    page = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(folder)}
    )
    assert page.stdout is not None
    return page, urlsplit(page.stdout.readline().split()[-1])


@pytest.mark.parametrize("ending", [slow(signal.SIGINT), slow(signal.SIGTERM), slow(signal.SIGHUP)])
def test_ending_the_page_ends_everything(ending: signal.Signals, tmp_path: Path) -> None:
    before = signal.signal(ending, signal.SIG_DFL)  # whoever runs the tests may ignore it: under nohup, for example
    page, address = start_page(tmp_path)
    signal.signal(ending, before)
    with page:
        assert address.hostname == "127.0.0.1"
        wait_until_it_answers(address.hostname, address.port or 0)
        page.send_signal(ending)
        _, complaints = page.communicate(timeout=LONG)
    assert not list(tmp_path.glob("peerveil-page-*"))
    assert "Traceback" not in complaints


@pytest.mark.slow
def test_what_is_still_being_sent_does_not_keep_the_page_from_ending(tmp_path: Path) -> None:
    page, address = start_page(tmp_path)
    assert address.hostname is not None
    with socket.create_connection((address.hostname, address.port or 0)) as line:
        line.sendall(f"GET {address.path}?{address.query} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
        cookie = re.search(rb"set-cookie: ([^;]*)", line.recv(2**16))
        assert cookie
        headers = (f"Host: {address.netloc}", f"Origin: http://{address.netloc}", f"Cookie: {cookie[1].decode()}")
        request = f"PUT {address.path}chair?name=reviews.csv HTTP/1.1"
        line.sendall("\r\n".join((request, *headers, "Content-Length: 1000", "", "paper,reviewer,score")).encode())
        until = time.monotonic() + LONG
        while not list(tmp_path.rglob(".*.part")):
            assert time.monotonic() < until
            time.sleep(0.05)
        page.terminate()
        output, complaints = page.communicate(timeout=LONG)
    assert not list(tmp_path.glob("peerveil-page-*"))
    assert not complaints, "nothing of what is asked is logged"
    assert "HTTP" not in output


class Serving:
    """The page's own server in a thread, with a small application behind it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        servers: list[uvicorn.Server] = []

        class Watched(uvicorn.Server):
            def __init__(self, config: uvicorn.Config) -> None:
                super().__init__(config)
                servers.append(self)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "lifespan":
                for _ in range(2):
                    await send({"type": f"{(await receive())['type']}.complete"})
                return
            if scope["path"] == "/slow":
                await self.go.wait()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"in"})

        self.go = asyncio.Event()
        monkeypatch.setattr("uvicorn.Server", Watched)
        monkeypatch.setattr(serving, "create_app", lambda _: None)
        monkeypatch.setattr(serving, "Guard", lambda *_, **__: app)
        self._door = listening(0)
        self.address = self._door.getsockname()
        page: Any = None
        self._thread = threading.Thread(
            target=lambda: serving._serve(page, KEYS, self._door, browser=False), daemon=True
        )
        self._thread.start()
        while not (servers and servers[0].started):
            time.sleep(0.01)
        self.server = servers[0]

    def connect(self, text: str = "") -> socket.socket:
        line = socket.create_connection(self.address, timeout=LONG)
        line.sendall(text.encode())
        return line

    def answers(self) -> bool:
        with self.connect("GET / HTTP/1.1\r\nHost: here\r\n\r\n") as line:
            return line.recv(2**16).startswith(b"HTTP/1.1 200")

    def close(self) -> None:
        self.server.should_exit = True
        self._thread.join()
        self._door.close()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.5)
    server = Serving(monkeypatch)
    yield server
    server.close()


def closed(line: socket.socket) -> bool:
    """Wait until the other side closes a connection; what it says before is passed over."""
    try:
        while line.recv(2**16):
            pass
    except ConnectionResetError:
        pass
    line.close()
    return True


START = "GET / HTTP/1.1\r\nHost: here\r\n"


@pytest.mark.promise("P-PAGE-7")
def test_the_documents_state_the_limits_of_connections() -> None:
    text = " ".join((Path(__file__).parents[2] / "docs" / "page.md").read_text(encoding="utf-8").split())
    stated = re.search(r"within (\d+) seconds, or if an upload pauses for (\d+) seconds. Beyond (\d+) open", text)
    assert stated
    limits = (connections.HEAD_SECONDS, connections.BODY_SECONDS, connections.MOST_OPEN)
    assert tuple(map(int, stated.groups())) == limits


@pytest.mark.promise("P-PAGE-7")
@pytest.mark.parametrize(
    "beginning",
    [
        "",
        "GET",
        START,
        f"{START}\r\n{START}",
        "PUT / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nx",
        "PUT /slow HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nx",
    ],
    ids=["nothing", "a word", "half a head", "half a second head", "half a body, answered", "half a body"],
)
def test_connections_whose_request_does_not_come_are_closed(served: Serving, beginning: str) -> None:
    assert closed(served.connect(beginning))
    assert served.answers()


def test_a_head_has_its_time_once(served: Serving) -> None:
    ended = False
    with served.connect("GET / HTTP/1.1\r\n") as line:
        for _ in range(1000):  # were each byte to give new time, it would never be closed
            try:
                line.sendall(b"X")
            except OSError:
                ended = True
                break
            time.sleep(0.05)
    assert ended


@pytest.mark.promise("P-PAGE-7")
def test_half_open_connections_hinder_nobody(served: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 3600.0)
    lines = []
    for place in range(200):
        lines.append(served.connect("GET / HTTP/1.1\r\n"))
        if place % 50 == 0:
            assert served.answers()
    assert served.answers()
    assert all(closed(line) for line in lines[:100]), "the oldest ones make room"
    assert len(served.server.server_state.connections) <= connections.MOST_OPEN
    for line in lines[100:]:
        line.close()


def test_requests_that_are_answered_are_not_ended_for_new_ones(
    served: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_OPEN", 2)
    lines = [served.connect("GET /slow HTTP/1.1\r\nHost: here\r\n\r\n") for _ in range(2)]
    while len(served.server.server_state.tasks) < 2:
        time.sleep(0.01)
    time.sleep(3 * connections.HEAD_SECONDS)  # an answer may take its time
    assert closed(served.connect("GET / HTTP/1.1\r\n"))
    served.server.servers[0].get_loop().call_soon_threadsafe(served.go.set)
    assert all(line.recv(2**16).startswith(b"HTTP/1.1 200") for line in lines)
    for line in lines:
        line.close()


def test_a_ledger_is_found_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute_place("b.db") == absolute_place("sqlite:///b.db") == str(tmp_path / "b.db")
    assert absolute_place("postgresql://host/name") == "postgresql://host/name"
    pv.Ledger.create("b.db")
    asked: list[str | None] = []

    class Asked:
        def __init__(self, ledger: str | None, remarks: tuple[str, ...], at: str) -> None:
            assert len(at) > 16
            assert remarks == ()
            asked.append(ledger)

        def close(self) -> None:
            pass

    monkeypatch.setattr(serving, "Page", Asked)
    monkeypatch.setattr(serving, "_serve", lambda *_, **__: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    serving.run(ledger="b.db", port=0, browser=False)
    assert asked == [str(tmp_path / "b.db")]


def test_the_secret_is_in_no_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    serving._open(f"{ORIGIN}/?token={KEYS.token}", tmp_path)
    (file,) = tmp_path.iterdir()
    assert opened == [file.as_uri()]
    assert KEYS.token in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_addresses_that_are_none_answer_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(jobs=AtOnce(), at=KEYS.at)
    app = create_app(page)
    try:
        for method, path, status in (
            ("GET", "/nowhere", 404),
            ("GET", "/chair/nobody/file", 404),
            ("GET", "/work/none", 404),
            ("GET", "/made/none/report.html", 404),
            ("GET", "/static/..%2fguard.py", 404),
            ("GET", "/static/../guard.py", 404),
            ("GET", "/researcher/none", 404),
            ("PUT", "/chair", 404),
            ("DELETE", "/", 405),
            ("GET", "/docs", 404),
            ("GET", "/openapi.json", 404),
            ("GET", "/", 200),
            ("GET", "/ledger", 200),
            ("GET", "/static/style.css", 200),
            ("GET", "/static/pictures.css", 200),
            ("GET", "/static/dark.json", 200),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert asyncio.run(answered(app, method, KEYS.at + path)).status == status, path
        assert asyncio.run(answered(app, "GET", "/ledger")).status == 404
    finally:
        page.workspace.remove()


@pytest.fixture
def chair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chair:
    return Chair(tmp_path, monkeypatch)


def test_what_a_report_is_called_reaches_the_release(chair: Chair) -> None:
    said = {"title": "Our reviewers", "year": "2026", "author": "Ada Lovelace; Alan Turing", "licence": "CC-BY-4.0"}
    chair.post("/choices", quantity="ratings", unit="reviewer", mechanism="laplace", epsilon="1", **said)
    chair.release(chair.read())
    (task,) = (task for task in chair.jobs.tasks if task.kind == "release")
    request = work.request_of(ReleaseRequest, task)
    about = pv.About(title="Our reviewers", year=2026, authors=["Ada Lovelace", "Alan Turing"])
    given = release_arguments(request.what)
    assert (given["about"], given["licence"]) == (about, "CC-BY-4.0")
    shown = chair.ask("GET", f"{chair.here}/choices").body.decode()
    assert 'value="Ada Lovelace; Alan Turing"' in shown


def test_what_is_released_is_what_was_read(chair: Chair) -> None:
    chair.choose("0.1")
    read = chair.read()
    assert chair.post("/release", promise=read).status == 422, "the reader must confirm it"
    assert chair.post("/release", read="yes").status == 422
    assert chair.release(read) == 303
    assert [options["epsilon"] for options in chair.jobs.released()] == [0.1]
    assert chair.release(read) == 422, "a promise is good for one release"
    assert len(chair.jobs.released()) == 1


def test_sheets_of_a_workbook_are_a_menu(tmp_path: Path) -> None:
    columns: Rows = [["paper", "reviewer", "score"], ["p", "ann", 3]]
    path = by_openpyxl(tmp_path / "a.xlsx", {"Round <1>": columns, "Round 2": columns})
    page = Page(ledger=None, jobs=AtOnce(), at=KEYS.at)
    app = create_app(page)

    def ask(method: str, address: str, body: bytes = b"") -> str:
        return asyncio.run(answered(app, method, KEYS.at + address, body)).body.decode()

    ask("PUT", "/chair?name=a.xlsx", path.read_bytes())
    (case,) = page.chairs.values()
    shown = ask("GET", f"/chair/{case.id}/file")
    assert '<option value="Round &lt;1&gt;" >Round &lt;1&gt;</option><option value="Round 2" >' in shown
    ask("POST", f"/chair/{case.id}/file", b"sheet=Round+2")
    assert case.options()["sheet"] == "Round 2"
    assert '<option value="Round 2" selected>' in ask("GET", f"/chair/{case.id}/file")
    ask("PUT", "/chair?name=a.csv", REVIEWS.encode())
    assert "Sheet of the workbook" not in ask("GET", f"/chair/{[*page.chairs][1]}/file")
    page.workspace.remove()


CHANGES: dict[str, Callable[[Chair], object]] = {
    "another budget": lambda chair: chair.choose("7"),
    "a plan": lambda chair: chair.choose("7", "/plan"),
    "a wrong budget": lambda chair: chair.choose("x"),
    "what is public": lambda chair: chair.post("/public", public="none"),
    "a wrong answer to what is public": lambda chair: chair.post("/public", public=""),
    "the scale": lambda chair: chair.post("/file", lowest="0", highest="10"),
    "a file": lambda chair: chair.put(f"{chair.here}/files/mapping?file=m.toml", ""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_promise_that_was_read_before_a_change_releases_nothing(change: str, chair: Chair) -> None:
    """In another window, or by going back: the budget that is spent is never another than the one that was read."""
    chair.choose("0.1")
    read = chair.read()
    CHANGES[change](chair)
    assert chair.release(read) == 422
    assert chair.read() != read
    assert not chair.jobs.released()


def test_files_stay_as_they_were_read_while_a_release_is_made(chair: Chair) -> None:
    """Neither a new upload nor one that began before the release replaces a file that the release reads."""
    upload = f"{chair.here}/files/mapping?file=m.toml"
    assert chair.put(upload, "first").status == 200
    kept = chair.case.folder / chair.case.files["mapping"]
    chair.choose("0.1")
    read = chair.read()
    chair.jobs.hold = True
    assert chair.release(read) == 303
    assert chair.put(upload, "second").status == 422
    assert kept.read_text() == "first"
    chair.jobs.waiting.pop()()
    assert chair.put(upload, "second").status == 200
    assert kept.read_text() == "second"
    turned = []

    def release_begins() -> None:
        turned.append(kept.read_text())
        raise pv.InputError("a release began")

    with pytest.raises(pv.InputError, match="a release began"):
        asyncio.run(chair.page.workspace.save(chair.case.folder, "m.toml", parts(b"third"), release_begins))
    assert turned == ["second"]
    assert kept.read_text() == "second"
    assert sorted(path.name for path in chair.case.folder.iterdir()) == ["m.toml", "reviews.csv"]


def test_a_promise_that_comes_late_is_not_for_what_was_said_since(chair: Chair) -> None:
    chair.jobs.hold = True
    chair.choose("0.1")
    chair.choose("7")
    first, second = chair.jobs.waiting
    second()
    first()
    assert chair.case.promised["summary"] == "epsilon = 7.0"
    chair.release(chair.read())
    assert [options["epsilon"] for options in chair.jobs.released()] == [7.0]


def test_asked_twice_it_is_released_once(chair: Chair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the first is made while the second still waits for the ledger."""
    chair.choose("0.1")
    read = chair.read()
    entered = threading.Semaphore(0)
    first, second = threading.Event(), threading.Event()
    order = iter((first, second))

    def slowly(_: object) -> frozenset[str]:
        mine = next(order)
        entered.release()
        assert mine.wait(LONG)
        return frozenset()

    monkeypatch.setattr("peerveil.web.chair.releases_so_far", slowly)

    async def both() -> list[Answer]:
        body = urlencode({"read": "yes", "promise": read}).encode()
        address = f"{KEYS.at}{chair.here}/release"
        asked = [asyncio.create_task(answered(chair.app, "POST", address, body)) for _ in range(2)]
        for _ in asked:
            assert await asyncio.to_thread(entered.acquire, timeout=LONG)
        first.set()
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        second.set()
        return await asyncio.gather(*asked)

    assert sorted(answer.status for answer in asyncio.run(both())) == [303, 422]
    assert len(chair.jobs.released()) == 1
    chair.choose("0.1")
    chair.jobs.hold = True
    monkeypatch.setattr("peerveil.web.chair.releases_so_far", lambda _: frozenset())
    chair.case.promised = {"turn": chair.case.turn, "options": {}}
    places = {chair.post("/release", read="yes", promise=str(chair.case.turn)).headers["location"] for _ in range(2)}
    assert len(places) == 1, "while it is being made, the second is led to the first"
    assert len(chair.jobs.released()) == 2


@pytest.mark.parametrize("public", ["/etc/passwd", "../reviews.csv", "openreview:venue", "ALL", ""])
def test_what_is_public_is_one_of_three_answers(public: str, chair: Chair) -> None:
    """A form must not name other files of this machine."""
    assert chair.post("/public", public=public).status == 422
    assert chair.choose("1") == 422
    assert not [task for task in chair.jobs.tasks if task.kind == "promise"]


@pytest.mark.parametrize(("lowest", "highest"), [("1", ""), ("", "10"), ("1", "ten"), ("1,5", "10"), ("nan", "10")])
def test_a_scale_that_is_none_is_told_at_its_field_and_kept(lowest: str, highest: str, chair: Chair) -> None:
    answer = chair.post("/file", lowest=lowest, highest=highest)
    shown = answer.body.decode()
    assert answer.status == 422
    assert "“The score scale” must be two numbers" in shown
    assert shown.count('aria-invalid="true"') == 2
    assert [f'name="{end}" value="{typed}"' in shown for end, typed in (("lowest", lowest), ("highest", highest))]
    assert chair.case.answers["score_scale"] == "1,10"


def test_a_wrong_scale_is_told_once(folder: Path) -> None:
    options = {"file": "reviews.csv", "score_scale": "100,200"}
    state, problem = work._outcome(Task(kind="inspect", folder=str(folder), options=options), lambda _: None)
    assert (state, problem.field) == ("failed", "score_scale")
    assert problem.words.count("outside") == problem.words.count("line ") == 1
    assert problem.words.endswith("state the lowest and the highest possible score with “The score scale”")


def test_public_scores_can_be_downloaded(folder: Path, chair: Chair) -> None:
    options = {"file": "reviews.csv", "score_scale": "1,10"}
    task = Task(kind="public", folder=str(folder), options=options, output=str(folder / "scores.csv"))
    assert work._outcome(task, lambda _: None) == ("done", {})
    write_public(pv.read(folder / "reviews.csv", scale=(1, 10)).public("all"), folder / "expected.csv")
    assert (folder / "scores.csv").read_bytes() == (folder / "expected.csv").read_bytes()
    address = f"{chair.here}/public-scores/reviews-public.csv"
    assert f'href="{chair.page.at}{address}"' in chair.ask("GET", f"{chair.here}/public").body.decode()
    chair.page.own_file(chair.case, f"public-scores-{chair.case.turn}.csv").write_bytes(b"paper,ratings\n")
    answer = chair.ask("GET", address)
    assert (answer.status, answer.body) == (200, b"paper,ratings\n")
    assert answer.headers["content-disposition"] == 'attachment; filename="reviews-public.csv"'
    chair.post("/file", lowest="1", highest="9")  # read otherwise: the scores may be others
    chair.ask("GET", address)
    assert chair.jobs.tasks[-1].kind == "public"
    assert chair.jobs.tasks[-1].options["score_scale"] == "1,9"


@pytest.mark.parametrize("role", ["file", "attributes"])
def test_no_upload_is_taken_for_public_scores_because_of_its_name(chair: Chair, role: str) -> None:
    table, case = "paper,reviewer,score\np1,ann@example.org,3\np1,bob@example.org,4\n", chair.case.id
    if role == "file":
        assert chair.put("/chair?name=public-scores-0.csv", table).status == 200
        case = list(chair.page.chairs)[-1]
    else:
        chair.put(f"{chair.here}/files/attributes?file=public-scores-{chair.case.turn + 2}.csv", table)
    uploaded = chair.page.chairs[case]
    assert (uploaded.folder / f"public-scores-{uploaded.turn}.csv").is_file()
    assert b"ann" not in chair.ask("GET", f"/chair/{case}/public-scores/public.csv").body
    assert chair.jobs.tasks[-1].kind == "public"


def test_a_form_of_very_many_fields_is_refused(chair: Chair) -> None:
    assert chair.ask("POST", f"{chair.here}/file", 300 * "a=&").status == 422


HOSTILE = "\"'></main><script>alert(1)</script><img src=x onerror=y>{{ 4567 * 8910 }}"


def test_whatever_is_said_is_text(chair: Chair, tmp_path: Path) -> None:
    """Names of columns, files, data sets and releases may come from others."""
    answers = dict.fromkeys(
        ("score_scale", "paper", "criteria", "symbols", "loads", "epsilon", "bins", "words"), HOSTILE
    )
    case = Case(tmp_path, answers=answers, files=dict.fromkeys(("people", "mapping", "public_file", "noisy"), HOSTILE))
    case.inspected = {HOSTILE: HOSTILE, "problems": [HOSTILE], "columns": [HOSTILE], "content": HOSTILE}
    case.planned = {"answer": [HOSTILE], "others": [HOSTILE], "assumption": HOSTILE, "options": {"epsilon": HOSTILE}}
    case.promised = dict.fromkeys(
        ("summary", "promise", "not_protected", "noise", "turn", "choice", "accuracy", "caution"), HOSTILE
    )
    group = dict.fromkeys(("name", "public", "reviewers", "summary", "promise", "choice", "accuracy"), HOSTILE)
    tracks = replace(
        case, promised=case.promised | {"groups": [group | {"errors": (HOSTILE, HOSTILE)}], "remark": HOSTILE}
    )
    precision = {"header": [HOSTILE], "rows": [[HOSTILE, HOSTILE]], "assumption": HOSTILE, "released": HOSTILE}
    groups = replace(case, promised=case.promised | precision)
    case.results["m"] = dict.fromkeys(("called", "estimator", "region"), HOSTILE) | {"expected_rmse": None}
    result = dict.fromkeys(
        ("record", "error", "summary", "promise", "estimator", "accuracy", "verdict", "caution"), HOSTILE
    )
    result |= {"remarks": [HOSTILE], "notes": [HOSTILE]}  # type: ignore[dict-item]
    account = dict.fromkeys(("dataset", "unit", "currency", "limit", "left", "share", "releases"), HOSTILE)
    charge = dict.fromkeys(("charged", "dataset", "unit", "cost", "quantity"), HOSTILE)
    show = chair.page.show
    shown = [
        show("problem.html", problem=Problem(HOSTILE)),
        show("chair_file.html", case=case, here="file"),
        show("chair_public.html", case=case, here="public"),
        show("chair_choices.html", case=case, here="choices", picture=""),
        show("chair_promise.html", case=case, here="promise", accounts=[account, account | {"dataset": "b"}]),
        show("chair_promise.html", case=tracks, here="promise", accounts=None),
        show("chair_promise.html", case=groups, here="promise", accounts=None),
        show("ledger.html", accounts=[account], history=[charge]),
        show("researcher.html", case=case),
        show("result.html", case=case, made="m", result=result, pictures={}, study=True),
        *(
            show("work.html", job=Job("x", HOSTILE, "/", "/", s, HOSTILE, HOSTILE))
            for s in get_args(State)
            if s != "done"
        ),
    ]
    for page in shown:
        text = bytes(page.body).decode()
        assert "&lt;script&gt;alert(1)" in text
        assert "<img" not in text
        assert str(4567 * 8910) not in text
        assert "\"'>" not in text
        scripts = re.findall(r"<script[^>]*>", text)
        assert all(script.startswith(f'<script src="{KEYS.at}/static/') for script in scripts), scripts


def test_a_form_that_is_too_long_is_told_so(chair: Chair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "FORM_LIMIT", 100)
    guarded = Guard(chair.app, port=PORT, keys=KEYS)
    answer = asyncio.run(
        answered(guarded, "POST", f"{KEYS.at}{chair.here}/file", 101 * b"x", cookie=COOKIE, origin=ORIGIN)
    )
    assert answer.status == 413
    assert b"the request is too large" in answer.body


def test_only_files_that_are_asked_for_are_taken(chair: Chair) -> None:
    for role in ("file", "..", "noisy"):
        assert chair.put(f"{chair.here}/files/{role}?file=reviews.csv", "other").status == 404
    assert chair.put("/researcher?role=file&name=reviews.csv", "other").status == 404
    assert (chair.case.folder / "reviews.csv").read_text() == REVIEWS


def test_a_report_brings_no_script_and_work_that_is_none_brings_nothing(chair: Chair) -> None:
    for name in ("x", "y"):
        (chair.page.result_folder(name) / "bundle").mkdir(parents=True)
        (chair.page.result_folder(name) / "bundle" / "report.html").write_text("<p>report</p>")
    chair.jobs["x"] = Job("x", "t", "/", "/")
    guarded = Guard(chair.app, port=PORT, keys=KEYS)
    addresses = [f"{KEYS.at}/made/{name}/report.html" for name in ("x", "y")]
    report, other = (asyncio.run(answered(guarded, "GET", a, cookie=COOKIE)) for a in addresses)
    assert (report.status, other.status) == (200, 404)
    policy = report.headers["content-security-policy"].split("; ")
    allowed = {part.split()[0]: part.split()[1:] for part in policy}
    assert allowed["default-src"] == ["'none'"]
    assert allowed["frame-ancestors"] == ["'none'"]
    assert "script-src" not in allowed
    assert report.headers["x-content-type-options"] == "nosniff"
