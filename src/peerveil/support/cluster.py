"""The workers of a Dask cluster as an executor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from typing import Any

from peerveil.errors import InputError, PeerveilError

#: How long to try to connect to a cluster, also again, in seconds.
_CONNECT = 10


@contextmanager
def cluster(address: str | None) -> Iterator[Executor | None]:
    """Yield the executor of a Dask cluster, given its scheduler's address (``tcp://host:8786``), or ``None``.

    The cluster's workers need the same version of Peerveil. They receive only what the tasks contain.
    """
    if address is None:
        yield None
        return
    client = _client(address)
    try:
        yield Cluster(client)
    finally:
        client.close()


class Cluster(Executor):
    """The executor of a cluster's client. Its own one waits forever for a scheduler that is gone."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor: Executor = client.get_executor(pure=False)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:  # type: ignore[override]
        """Submit a call, unless the scheduler is gone."""
        self.check()
        return self._executor.submit(function, *arguments)

    def check(self) -> None:
        """Raise an error if the scheduler is gone: Dask closes a client that could not connect again for a while."""
        if self._client.status in ("closing", "closed"):
            raise self.gone()

    def gone(self) -> PeerveilError:
        """Return the error of a lost connection, after Dask has connected again or given up.

        If it were closed in between, it would log a traceback.
        """
        until = time.monotonic() + 2 * _CONNECT
        while self._client.status == "connecting" and time.monotonic() < until:
            time.sleep(0.1)
        return PeerveilError(
            "the scheduler of the cluster is gone or was restarted; see that it runs, and start the same command again"
        )


def _client(address: str) -> Any:
    problem = "a cluster needs the package distributed: pip install 'peerveil[cluster]'"
    with suppress(ModuleNotFoundError):
        import distributed  # noqa: PLC0415 - an extra

        problem = f"there is no cluster at {address}; start one with `dask scheduler` and `dask worker {address}`"
        connect: Any = distributed.Client
        with suppress(OSError, ValueError):
            return connect(address, timeout=_CONNECT, set_as_default=False)
    raise InputError(problem)
