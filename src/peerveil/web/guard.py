"""Who may ask, and what every answer says about itself.

The page runs on the user's own machine, where every web site that the user visits can send requests to it, and other
users may be logged in. So each request must name this host (else a site could point its own name here), carry a cookie
that only the secret address gives, and, where it changes anything, come from this very page.
"""

from __future__ import annotations

import html
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: No script, style, picture, font or request from or to anywhere else.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

#: A report brings its style along, and no script.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

#: How much may be sent: a file, and the answers of a form.
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


class TooLarge(Exception):  # noqa: N818 - what it says
    """More was sent than may be."""


@dataclass(frozen=True)
class Secrets:
    """What the address holds, what the cookie holds that it is exchanged for, and where the page is.

    Browsers send a cookie to every program on this machine, whatever its port, but only below the cookie's own path. So
    the page is at a path that nobody else knows.
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    place: str = field(default_factory=lambda: secrets.token_urlsafe(12))

    @property
    def at(self) -> str:
        """What all addresses of the page begin with."""
        return f"/{self.place}"


class Guard:
    """Lets through what may ask; everything else gets a short answer that says why not."""

    def __init__(self, app: App, *, port: int, keys: Secrets) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"peerveil-{port}"  # cookies do not know ports, so that two pages would take each other's
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        if self._has_token(scope):
            await self._enter(send)
            return
        limit = FILE_LIMIT if scope["method"] == "PUT" else FORM_LIMIT
        stated = headers.get("content-length", "0")
        if not stated.isdecimal() or int(stated) > limit:
            await _answer(send, 413, f"The file is too large: at most {limit // 2**20} MB can be taken.")
            return
        await self._app(scope, _counted(receive, limit), _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if host not in self._hosts:
            return 421, "This page answers only under the address that peerveil printed."
        changes = scope["method"] not in ("GET", "HEAD")
        if changes and headers.get("origin") != f"http://{host}":
            return 403, "This request comes from another page, so it was refused."
        entering = not changes and self._has_token(scope)
        if entering:
            return None
        # A page on another port of this machine counts as the same site, and our cookie goes along with its requests.
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "This request comes from another page, so it was refused."
        if not (scope["path"].startswith(f"{self._keys.at}/") and self._has_session(headers)):
            return 403, "Open the page with the whole address that peerveil printed: it holds a secret."
        return None

    def _has_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        at_home = scope["path"] == f"{self._keys.at}/"
        return at_home and secrets.compare_digest(given.encode(), self._keys.token.encode())

    def _has_session(self, headers: dict[str, str]) -> bool:
        # Every program on this machine can set cookies for it, of any form and of any name: ours must be among them.
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        given = [value.encode() for name, _, value in pairs if name == self._cookie]
        return any(secrets.compare_digest(value, self._keys.session.encode()) for value in given)

    async def _enter(self, send: Send) -> None:
        """Exchange the token for a cookie, by way of a page: browsers do not send a strict cookie along a redirect."""
        home = f"{self._keys.at}/"
        cookie = f"{self._cookie}={self._keys.session}; HttpOnly; SameSite=Strict; Path={home}"
        refresh = f'<meta http-equiv="refresh" content="0; url={home}">'
        page = _page("Opening …", f'<a href="{home}">Go on</a>', refresh)
        await _respond(send, 200, page, {b"set-cookie": cookie.encode()})


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *((k, v) for k, v in _HEADERS.items() if k not in own)]
        await send(message)

    return sent


def _counted(receive: Receive, limit: int) -> Receive:
    """What is received, up to a limit: a sender may have understated the length, or said none."""
    taken = 0

    async def received() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit:
            raise TooLarge
        return message

    return received


async def _answer(send: Send, status: int, words: str) -> None:
    await _respond(send, status, _page("Peerveil", html.escape(words)), {})


def _page(title: str, body: str, head: str = "") -> bytes:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{head}</head>'
        f"<body><main><h1>{title}</h1><p>{body}</p></main></body></html>"
    ).encode()


async def _respond(send: Send, status: int, body: bytes, more: dict[bytes, bytes]) -> None:
    headers = {b"content-type": b"text/html; charset=utf-8", b"content-length": str(len(body)).encode()} | _HEADERS
    await send({"type": "http.response.start", "status": status, "headers": [*(headers | more).items()]})
    await send({"type": "http.response.body", "body": body})
