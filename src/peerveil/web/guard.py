"""Checks of requests, and the headers of responses.

Every web site that the user visits can send requests to this machine, and other users may be logged in. Therefore each
request must name this host (otherwise a site could point its own name here) and carry a cookie that only the secret
address gives; a request that changes anything must come from this page.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Nothing is loaded from, or sent to, another host.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

#: A report has inline styles and no script.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

#: The most bytes of a file, and of a form.
FILE_LIMIT = 256 * 2**20
FORM_LIMIT = 2**20

_HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"same-origin",  # 'no-referrer' would make browsers hide the origin of our own forms
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class TooLarge(Exception):  # noqa: N818 - never reaches a caller
    """A request is larger than allowed."""


@dataclass(frozen=True)
class Secrets:
    """The token in the address, the session in the cookie that it is exchanged for, and the path of the page.

    Browsers send a cookie to every port of this machine, but only below the cookie's path. So the path is secret.
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    place: str = field(default_factory=lambda: secrets.token_urlsafe(12))

    @property
    def at(self) -> str:
        """The prefix of all addresses."""
        return f"/{self.place}"


class Guard:
    """Forwards permitted requests; others get a short response that says why not."""

    def __init__(self, app: ASGIApp, *, port: int, keys: Secrets) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"peerveil-{port}"  # cookies are shared by all ports
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
            limit = FILE_LIMIT if scope["method"] == "PUT" else FORM_LIMIT
            stated = headers.get("content-length", "0")
            app = self._own_response(scope, headers)
            if app is None and not (stated.isdecimal() and int(stated) <= limit):
                app = _page(413, f"The file is too large: at most {limit // 2**20} MB are allowed.")
            await (app or self._app)(scope, _counted(receive, limit), _with_headers(send))

    def _own_response(self, scope: Scope, headers: dict[str, str]) -> HTMLResponse | None:
        """Return a response to a request that is refused or carries the token; ``None`` to forward it."""
        host = headers.get("host", "")
        if host not in self._hosts:
            return _page(421, "Open the page at the address that peerveil printed.")
        changes = scope["method"] not in ("GET", "HEAD")
        if changes and headers.get("origin") != f"http://{host}":
            return _page(403, "This request comes from another page, so it was refused.")
        if not changes and self._has_token(scope):
            return self._entrance()
        # A page on another port of this machine counts as the same site, and its requests carry our cookie.
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return _page(403, "This request comes from another page, so it was refused.")
        if not (scope["path"].startswith(f"{self._keys.at}/") and self._has_session(headers)):
            return _page(403, "Open the page with the whole address that peerveil printed, which contains a secret.")
        return None

    def _has_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        at_home = scope["path"] == f"{self._keys.at}/"
        return at_home and secrets.compare_digest(given.encode(), self._keys.token.encode())

    def _has_session(self, headers: dict[str, str]) -> bool:
        # Every program on this machine can set cookies for it, valid or not, even under our name.
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        given = [value.encode() for name, _, value in pairs if name == self._cookie]
        return any(secrets.compare_digest(value, self._keys.session.encode()) for value in given)

    def _entrance(self) -> HTMLResponse:
        """Exchange the token for a cookie, through a page: browsers do not send a strict cookie after a redirect."""
        home = f"{self._keys.at}/"
        cookie = f"{self._cookie}={self._keys.session}; HttpOnly; SameSite=Strict; Path={home}"
        refresh = f'<meta http-equiv="refresh" content="0; url={home}">'
        page = _page(200, f'<a href="{home}">Continue</a>', refresh)
        page.headers["set-cookie"] = cookie
        return page


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *((k, v) for k, v in _HEADERS.items() if k not in own)]
        await send(message)

    return sent


def _counted(receive: Receive, limit: int) -> Receive:
    """Return a function that receives up to a limit, whatever length the request states."""
    taken = 0

    async def received() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit:
            raise TooLarge
        return message

    return received


def _page(status: int, body: str, head: str = "") -> HTMLResponse:
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Peerveil</title>{head}</head>'
        f"<body><main><h1>Peerveil</h1><p>{body}</p></main></body></html>",
        status_code=status,
    )
