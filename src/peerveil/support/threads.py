"""Single-threaded linear algebra.

The matrices here are many and small. Threads cost more time than they save, wait for each other on busy machines, and
make the last digits of results depend on the number of cores.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Run the block with linear algebra on one thread.

    >>> import numpy as np
    >>> with on_one_thread():
    ...     np.linalg.inv([[2.0]]).tolist()
    [[0.5]]
    """
    with _libraries(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _libraries(_modules: int) -> Any:
    """Return a controller of all thread pools; the argument renews it after further imports."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - not needed to start

    return ThreadpoolController()
