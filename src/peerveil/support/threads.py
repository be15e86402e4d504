"""Linear algebra on one thread.

Matrices here are many and small: threads cost more time than they save, wait for each other where cores are busy, and
change the last digits of results with the number of cores.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Within it, linear algebra uses one thread.

    >>> import numpy as np
    >>> with on_one_thread():
    ...     np.linalg.inv([[2.0]]).tolist()
    [[0.5]]
    """
    with _libraries(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _libraries(_modules: int) -> Any:
    """The libraries with threads of their own; looked for again where modules were imported since."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - not needed to start

    return ThreadpoolController()
