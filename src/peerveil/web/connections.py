"""Connections that do not wait for ever.

Uvicorn closes a connection that is idle between two requests. But it waits for the first request of a connection, and
for the end of one that has begun, however long that takes. Every program on this machine could fill the page with such
connections.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: How long the beginning of a request may take, up to the end of its headers, in seconds.
HEAD_SECONDS = 10.0

#: How long a sender may pause amid what it sends, in seconds.
BODY_SECONDS = 60.0

#: How many connections may be open. A browser keeps six.
MOST_OPEN = 100


class Connection(H11Protocol):
    """A connection that is closed when its request does not come."""

    _timer: asyncio.TimerHandle | None = None
    _absolute = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; where too many connections do, end the one that has waited longest."""
        super().connection_made(transport)
        self._expect()
        if len(self.connections) > MOST_OPEN:
            waiting = [one for one in self.connections if isinstance(one, Connection) and one._idle()]
            _end(min(waiting, key=Connection._deadline, default=self))

    def data_received(self, data: bytes) -> None:
        """Take what came."""
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
        """Whether no request is being answered, and none is sent that will be."""
        if self.transport.is_closing():
            return False
        return self.conn.their_state is h11.IDLE or self.conn.our_state in (h11.DONE, h11.MUST_CLOSE)

    def _deadline(self) -> float:
        return self._timer.when() if self._timer is not None else 0.0

    def _expect(self) -> None:
        """Limit the time until the sender's next step: a whole head within a time, a body without a long pause.

        Each byte of a body gives it new time. A head, or a body that nobody reads, has its time once.
        """
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
        if not self._idle() and self.flow.read_paused:  # it is us who do not read
            self._expect()
            return
        _end(self)


def _end(connection: Connection) -> None:
    """Close a connection once everything was sent that was to be."""
    connection._stop()
    connection.transport.close()
