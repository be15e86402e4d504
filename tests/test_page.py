"""The page without a browser: who may ask, what is kept where, and what work says."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from peerveil.bundle import FILES
from peerveil.cli import main
from peerveil.cli.commands.serve import serve
from peerveil.private import noise
from peerveil.web import guard, jobs, work, workspace
from peerveil.web.app import create_app
from peerveil.web.cases import Case, number, said_of_loads, whole
from peerveil.web.guard import Guard, Secrets
from peerveil.web.jobs import Job, Jobs, State
from peerveil.web.page import Page
from peerveil.web.serving import listening
from peerveil.web.spending import charges_since, releases_so_far
from peerveil.web.work import Task
from peerveil.web.workspace import Workspace, safe_name

KEYS = Secrets(32 * "t", 32 * "s")
PORT = 8737
HOST = f"127.0.0.1:{PORT}"
COOKIE = f"peerveil-{PORT}={KEYS.session}"


class Answer:
    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.reached = False


def ask(
    method: str = "GET",
    path: str = "/ledger",
    *,
    query: str = "",
    body: bytes = b"",
    kind: str = "http",
    **headers: str | None,
) -> Answer:
    """Ask a guarded application that only says that it was reached."""
    answer = Answer()

    async def inside(_scope: Any, receive: Any, send: Any) -> None:
        answer.reached = True
        answer.body = (await receive()).get("body", b"")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})

    given = {"host": HOST, "cookie": COOKIE} | headers
    listed = [(k.replace("_", "-").encode(), v.encode()) for k, v in given.items() if v is not None]
    scope = {"type": kind, "method": method, "path": path, "query_string": query.encode(), "headers": listed}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {k.decode(): v.decode() for k, v in message["headers"]}

    asyncio.run(Guard(inside, port=PORT, keys=KEYS)(scope, receive, send))
    return answer


ORIGIN = f"http://{HOST}"


def test_the_page_itself_may_ask() -> None:
    assert ask().reached
    assert ask(host=f"localhost:{PORT}").reached
    assert ask(sec_fetch_site="same-origin").reached
    assert ask(sec_fetch_site="none").reached
    assert ask("POST", origin=ORIGIN).reached
    assert ask("PUT", origin=ORIGIN, sec_fetch_site="same-origin").reached


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:9", "", None, f"evil@{HOST}"])
def test_another_host_is_refused(host: str | None) -> None:
    """A site may point its own name at this machine; its pages would then be of the same origin."""
    answer = ask(host=host)
    assert (answer.status, answer.reached) == (421, False)
    assert not ask("POST", host=host, origin=f"http://{host}").reached


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", f"https://{HOST}", f"http://localhost:{PORT}", "http://127.0.0.1:9"]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_change_from_another_origin_is_refused(method: str, origin: str | None) -> None:
    assert (ask(method, origin=origin).status, ask(method, origin=origin).reached) == (403, False)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_page_makes_the_browser_ask_is_refused(site: str) -> None:
    assert ask(sec_fetch_site=site).status == 403
    assert ask("POST", origin=ORIGIN, sec_fetch_site=site).status == 403


@pytest.mark.parametrize(
    "cookie", [None, "", "peerveil-8737=", f"peerveil-1={KEYS.session}", f"peerveil-8737={KEYS.token}", "a;b;=;\x01"]
)
def test_without_the_cookie_nothing_is_answered(cookie: str | None) -> None:
    for method in ("GET", "POST"):
        answer = ask(method, cookie=cookie, origin=ORIGIN)
        assert (answer.status, answer.reached) == (403, False)


def test_the_secret_address_gives_the_cookie_and_nothing_else_does() -> None:
    entered = ask(path="/", query=f"token={KEYS.token}", cookie=None, sec_fetch_site="cross-site")
    assert entered.status == 200
    assert not entered.reached
    cookie = entered.headers["set-cookie"]
    assert COOKIE in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    for query in ("token=", "token=x", f"token={KEYS.session}", f"token={KEYS.token}x", "", f"nekot={KEYS.token}"):
        assert ask(path="/", query=query, cookie=None).status == 403
    for changed in (
        {"path": "/chair"},
        {"method": "POST"},
        {"host": "evil.example"},
    ):
        refused = ask(**({"path": "/", "query": f"token={KEYS.token}", "cookie": None} | changed))  # type: ignore[arg-type]
        assert "set-cookie" not in refused.headers
        assert refused.status in (403, 421)
    assert KEYS.token != KEYS.session
    assert Secrets() != KEYS


def test_every_answer_allows_nothing_from_elsewhere() -> None:
    for answer in (ask(), ask(cookie=None), ask(host="evil.example"), ask(path="/", query=f"token={KEYS.token}")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not set(policy.replace(";", " ").split()) & {"*", "http:", "https:"}
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers


def test_too_much_is_refused_whatever_its_sender_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "FORM_LIMIT", 100)
    monkeypatch.setattr(guard, "FILE_LIMIT", 1000)
    assert ask("POST", origin=ORIGIN, body=100 * b"x", content_length="100").reached
    assert ask("POST", origin=ORIGIN, content_length="101").status == 413
    assert ask("PUT", origin=ORIGIN, content_length="1000").reached
    assert ask("PUT", origin=ORIGIN, content_length="1001").status == 413
    for said in ("-1", "x", "1e3"):
        assert ask("PUT", origin=ORIGIN, content_length=said).status == 413
    with pytest.raises(guard.TooLarge):
        ask("POST", origin=ORIGIN, body=101 * b"x", content_length="5")
    with pytest.raises(guard.TooLarge):
        ask("PUT", origin=ORIGIN, body=1001 * b"x", transfer_encoding="chunked")


def test_there_are_no_sockets_of_other_kinds() -> None:
    assert not ask(kind="websocket").reached


@given(st.text(max_size=300))
def test_names_of_files_stay_in_their_folder(name: str) -> None:
    kept = safe_name(name)
    assert 1 <= len(kept) <= 100
    assert Path(kept).name == kept
    assert kept not in (".", "..")
    assert not kept.startswith(".")
    assert "\0" not in kept
    assert "/" not in kept
    assert "\\" not in kept


async def parts(*given: bytes) -> AsyncIterator[bytes]:
    for part in given:
        yield part


def test_the_workspace_is_private_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    space = Workspace()
    assert space.folder.parent == tmp_path
    assert space.folder.stat().st_mode & 0o077 == 0
    file = asyncio.run(space.save(space.new(), "../a b.csv", parts(b"one", b"two")))
    assert file.read_bytes() == b"onetwo"
    assert space.folder in file.parents
    monkeypatch.setattr(workspace, "TOTAL_LIMIT", 10)
    with pytest.raises(pv.InputError, match="too much room"):
        asyncio.run(space.save(space.new(), "b.csv", parts(b"four", b"five")))
    assert not list(space.folder.rglob("b.csv"))
    space.remove()
    assert not list(tmp_path.iterdir())


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
    space = Workspace()
    kept = {path.name for path in tmp_path.iterdir()} - {space.folder.name}
    assert f"peerveil-page-{ended.pid}-x" not in kept
    assert len(kept) == 5


REVIEWS = "paper,reviewer,score\n" + "".join(
    f"p{i},r{(i * 3 + j) % 8},{(i + 2 * j) % 9 + 1}\n" for i in range(12) for j in range(2)
)
SAID = {"file": "reviews.csv", "public": "all", "quantity": "ratings", "unit": "reviewer", "epsilon": 1.0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reviews.csv").write_text(REVIEWS)
    return tmp_path


def do(kind: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, **said: Any) -> tuple[str, Any]:
    monkeypatch.chdir(folder)
    steps: list[str] = []
    task = Task(kind=kind, folder=str(folder), said=SAID | said, output=str(folder / "made"))
    found = work._outcome(task, steps.append)
    assert steps or found[0] == "failed"
    return found


#: The time of a release, and the digest of everything in it, of which the time is a part.
STAMP = r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?|(?<=\"digest\": \")sha256:[0-9a-f]{64}(?=\"\n}\s*$)"


def test_work_makes_what_the_command_line_makes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_measurement", lambda *_: _Fixed())
    kind, result = do("release", folder, monkeypatch)
    assert kind == "done", result
    assert result["summary"] == "epsilon = 1 per reviewer (pure differential privacy)"

    monkeypatch.setattr(
        sys, "argv", ["peerveil", "release", "reviews.csv", "--public", "all", "--epsilon", "1", "-o", "out"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    mine, theirs = folder / "made" / "bundle", folder / "out"
    for name in FILES:
        first, second = (re.sub(STAMP, "TIME", (place / name).read_text()) for place in (mine, theirs))
        assert first == second, name
    with zipfile.ZipFile(folder / "made" / "bundle.zip") as packed:
        assert {name.removeprefix("release/") for name in packed.namelist()} == set(FILES)
        assert all(packed.read(f"release/{name}") == (mine / name).read_bytes() for name in FILES)


class _Fixed:
    """Noise that is the same every time, for comparing what is made around it."""

    def __call__(self, vector: list[float]) -> list[float]:
        return [x + (-1) ** i * (i % 5) for i, x in enumerate(vector)]

    def map(self, d_in: float) -> float:
        return 0.5


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
    assert "zero-concentrated" in other["summary"]


def test_a_plan_draws_and_spends_nothing_and_can_be_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for draw in ("draw", "draw_counts"):
            patch.setattr(noise.Prepared, draw, lambda *_: pytest.fail("noise was drawn"))
        kind, result = do("plan", folder, patch)
    assert kind == "done", result
    assert result["sentences"][1].startswith("At epsilon 1 each rank's mean is known to about ±")
    assert result["svg"].startswith("<svg")
    made, released = do("release", folder, monkeypatch, **result["chosen"])
    assert made == "done", released
    assert released["estimator"] == result["chosen"]["estimator"]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"public": "all", "load": 2}, "go with a file of public scores"),
        ({"public": "none"}, "--score-scale"),
        ({"quantity": "normalized"}, "needs criteria; name their columns (--criteria)"),
        ({"unit": "paper"}, "--unit must be 'reviewer' or 'review'"),
        ({"epsilon": -1.0}, "--epsilon must be"),
        ({"mechanism": "gaussian"}, "needs --delta"),
        ({"region": "round"}, "region must be one of"),
        ({"estimator": "wise"}, "estimator must be one of"),
        ({"file": "nowhere.csv"}, "nowhere.csv"),
        ({"mechanism": "sinh-normal", "rho": 1.0, "omega": 2.0, "epsilon": None}, "floating point"),
    ],
)
@pytest.mark.parametrize("kind", ["promise", "release"])
def test_errors_are_the_command_lines(
    kind: str, said: dict[str, Any], words: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "promise" and said.get("mechanism") == "sinh-normal":
        return  # a promise can be worked out for it; a release is refused
    state, told = do(kind, folder, monkeypatch, **said)
    assert state == "failed"
    assert words in told
    assert not (folder / "made").exists()


def test_internal_errors_tell_nothing_private(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError("ann gave 3 to p1")

    monkeypatch.setattr("peerveil.private.inspection.inspect", fails)
    state, words = do("inspect", folder, monkeypatch)
    assert state == "failed"
    assert "ann" not in words
    assert words.startswith("internal error (ValueError in test_page.py, line")


def test_packed_files_are_the_same_bytes_every_time(tmp_path: Path) -> None:
    (tmp_path / "in" / "figures").mkdir(parents=True)
    (tmp_path / "in" / "b").write_text("b")
    (tmp_path / "in" / "figures" / "a").write_text("a")
    for name in ("one.zip", "two.zip"):
        work.pack(tmp_path / "in", tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_work_in_processes_is_followed_cancelled_and_lost(folder: Path) -> None:
    place = Jobs()
    ended: list[State] = []

    def then(_: Job, state: State) -> None:
        ended.append(state)

    def begin(kind: Any = "inspect", **said: Any) -> Job:
        task = Task(kind=kind, folder=str(folder), said=SAID | said)
        return place.start(task, title="t", ahead="/a", back="/b", then=then)

    try:
        good = begin()
        assert good.finished.wait(60)
        assert good.state == "done"
        assert good.result["facts"]["reviewers"] == 8
        bad = begin(file="none.csv")
        assert bad.finished.wait(60)
        assert bad.state == "failed"
        assert "none.csv" in bad.words
        stopped = begin()
        place.cancel(stopped.id)
        assert stopped.finished.wait(60)
        assert stopped.state == "cancelled"
        place.cancel(stopped.id)  # once more does no harm
        lost = begin()
        worker = lost.worker
        assert worker is not None
        worker.process.kill()
        assert lost.finished.wait(60)
        assert lost.state == "failed"
        assert "too little memory" in lost.words
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
    assert all(job.finished.wait(10) for job in started)


def test_what_is_said_about_a_cancelled_release(tmp_path: Path) -> None:
    assert not charges_since(None, frozenset(), {})
    place = str(tmp_path / "b.db")
    ledger = pv.Ledger.create(place)
    ledger.open("x", epsilon=5)
    said = {"quantity": "ratings", "unit": "reviewer"}
    before = releases_so_far(place)
    assert "not charged" in charges_since(place, before, said)
    claim = pv.Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    ledger.charge("x", lambda _: claim, quantity="ratings", unit="reviewer", mechanism=pv.Laplace(scale=1.0))
    assert "charge stands" in charges_since(place, before, said)
    assert "not charged" in charges_since(place, before, said | {"quantity": "miscalibration"})
    assert "not charged" in charges_since(place, releases_so_far(place), said)
    Path(place).unlink()
    assert "cannot be told" in charges_since(place, before, said)


def test_forms_say_numbers_or_are_refused() -> None:
    assert number({"epsilon": ""}, "epsilon", "--epsilon") is None
    for text in ("x", "nan", "inf", "1,5"):
        with pytest.raises(pv.InputError, match="--epsilon must be a number"):
            number({"epsilon": text}, "epsilon", "--epsilon")
    with pytest.raises(pv.InputError, match="whole number"):
        whole({"load": "1.5"}, "load", "--load")
    assert said_of_loads({"load": "4", "loads": " ", "reviewers": ""}) == {"load": 4}


def test_loads_are_stated_for_a_file_only(tmp_path: Path) -> None:
    case = Case("x", tmp_path, said={"public": "file", "load": 2}, files={"file": "r.csv"})
    with pytest.raises(pv.InputError, match="choose the file of public scores"):
        case.options()
    case.files["public_file"] = "public_file/p.csv"
    assert case.options() == {"public": "public_file/p.csv", "load": 2, "file": "r.csv"}
    case.said["public"] = "all"
    assert case.options() == {"public": "all", "file": "r.csv"}


def test_the_page_binds_to_this_machine_only() -> None:
    with listening(0) as door:
        assert door.getsockname()[0] == "127.0.0.1"
        with pytest.raises(pv.OutputError, match="cannot be used"):
            listening(door.getsockname()[1])


def test_the_page_without_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peerveil.web.serving", None)
    with pytest.raises(pv.InputError, match=r"pip install 'peerveil\[web\]'"):
        serve()


def test_a_ledger_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "peerveil", "serve", "--no-browser", "--ledger", str(tmp_path / "none.db")]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    assert done.returncode == 1
    assert "there is no ledger" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_ending_the_page_ends_everything(ending: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "peerveil", "serve", "--no-browser", "--port", "0"]
    page = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    assert page.stdout is not None
    assert "http://127.0.0.1:" in page.stdout.readline()
    time.sleep(0.5)
    page.send_signal(ending)
    _, complaints = page.communicate(timeout=60)
    assert not list(tmp_path.glob("peerveil-page-*"))
    assert "Traceback" not in complaints


def test_addresses_that_are_none_answer_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoJobs(Jobs):
        def __init__(self) -> None:
            self._jobs = {}

        def start(self, *_: Any, **__: Any) -> Any:
            return None

        def close(self) -> None:
            pass

    page = Page(jobs=NoJobs())
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
                assert asyncio.run(_status(app, method, path)) == status, path
    finally:
        page.workspace.remove()


async def _status(app: Any, method: str, path: str) -> int:
    found = 0

    sent = False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            await asyncio.sleep(3600)  # it stays until it has its answer
        sent = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        nonlocal found
        found = message.get("status", found)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", HOST.encode())],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", PORT),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    await app(scope, receive, send)
    return found
