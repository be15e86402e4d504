"""Connections with time limits.

Uvicorn closes a connection that is idle between two requests, but waits without limit for the first request and for the
rest of an incomplete one. Any program on this machine could exhaust the page with such connections.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: How long the headers of a request may take, in seconds.
HEAD_SECONDS = 10.0

#: How long the body of a request may pause, in seconds.
BODY_SECONDS = 60.0

#: How many connections may be open. A browser opens six.
MOST_OPEN = 100


class Connection(H11Protocol):
    """A connection that is closed when its request does not arrive."""

    _timer: asyncio.TimerHandle | None = None
    _absolute = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request; if too many connections are open, close the one that has waited longest."""
        super().connection_made(transport)
        self._expect()
        if len(self.connections) > MOST_OPEN:
            waiting = [other for other in self.connections if isinstance(other, Connection) and other._idle()]
            _end(min(waiting, key=lambda other: other._timer.when() if other._timer else 0.0, default=self))

    def data_received(self, data: bytes) -> None:
        """Take received data."""
        super().data_received(data)
        self._expect()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        super().connection_lost(exc)

    def _idle(self) -> bool:
        """Whether no request is being received or answered."""
        if self.transport.is_closing():
            return False
        return self.conn.their_state is h11.IDLE or self.conn.our_state in (h11.DONE, h11.MUST_CLOSE)

    def _expect(self) -> None:
        """Set the time limit: one for all headers, or one that starts anew with each byte of a body."""
        if self._idle():
            if self._timer is None or not self._absolute:
                self._start(HEAD_SECONDS, absolute=True)
        elif self.conn.their_state is h11.SEND_BODY and not self.transport.is_closing():
            self._start(BODY_SECONDS, absolute=False)
        else:
            self._stop()

    def _start(self, seconds: float, *, absolute: bool) -> None:
        self._stop()
        self._timer, self._absolute = self.loop.call_later(seconds, self._late), absolute

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self._idle() and self.flow.read_paused:  # the page is not reading
            self._expect()
            return
        _end(self)


def _end(connection: Connection) -> None:
    """Close a connection after its pending output."""
    connection._stop()
    connection.transport.close()
