"""OpenReview through its API: a venue's notes, groups and profiles, read like a dump of them.

Requires the extra ``peerveil[openreview]`` and an account that may see who reviewed what.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from peerveil.errors import InputError, PeerveilError, VenueError
from peerveil.private.readers.openreview import field_value, from_elements
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.json_files import Element

#: The prefix of a venue given in place of a file.
PREFIX = "openreview:"

# The largest number of profiles per request.
_BATCH = 1000

_MEMBERS = (
    *("id", "members", "content", "forum", "replyto", "invitations", "invitation", "signatures", "readers", "ddate"),
    "details",
)
_SERVER = "https://api2.openreview.net"


def is_venue(readable: object) -> TypeGuard[str]:
    """Return whether a source is a venue on OpenReview, not a file or a frame."""
    return isinstance(readable, str) and readable.startswith(PREFIX)


def extract(venue: str, choices: Choices, client: Any = None) -> Extract:
    """Return the reviews of a venue, given by its group, such as ``"Example.org/2026/Conference"``.

    By default, the client uses the account in the variables ``OPENREVIEW_USERNAME`` and ``OPENREVIEW_PASSWORD``.
    """
    try:
        return from_elements(_elements(venue, client or _client()), f"{PREFIX}{venue}", choices)
    except PeerveilError:
        raise
    except Exception as error:  # noqa: BLE001 - the client's errors may hold names
        problem = type(error).__name__
    raise VenueError(f"{PREFIX}{venue} could not be read ({problem}); check its name and what your account may see")


def _client() -> Any:
    try:
        from openreview.api import OpenReviewClient  # noqa: PLC0415 - an extra
    except ImportError:
        raise InputError("reading a venue needs openreview-py: pip install 'peerveil[openreview]'") from None
    account = [os.environ.get(f"OPENREVIEW_{name}") for name in ("USERNAME", "PASSWORD")]
    if not all(account):
        raise InputError("set OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD to an account that may see reviewers")
    return OpenReviewClient(baseurl=_SERVER, username=account[0], password=account[1])


def _elements(venue: str, client: Any) -> Iterator[Element]:
    """Yield the elements of a dump of the venue, groups first."""
    group = _plain(client.get_group(venue))
    named = field_value((group.get("content") or {}).get("submission_name"))
    submission = named if isinstance(named, str) else "Submission"
    yield Element(1, "groups", group)
    groups = [_plain(g) for g in client.get_all_groups(prefix=f"{venue}/{submission}", domain=venue)]
    behind = [g for g in groups if "/Reviewer_" in str(g.get("id")) and g.get("members")]
    members = sorted({str(g["members"][0]) for g in behind})
    for profile in _profiles(client, members):
        yield Element(1, "profiles", profile)
    for g in behind:
        yield Element(1, "groups", g)
    notes: Iterable[Any] = client.get_all_notes(invitation=f"{venue}/-/{submission}", details="replies")
    for number, note in enumerate(notes, 1):
        yield Element(number, "notes", _plain(note))


def _profiles(client: Any, members: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the profiles of members, each with the names or the address by which it was requested."""
    ids = [member for member in members if member.startswith("~")]
    addresses = [member for member in members if not member.startswith("~")]
    for start in range(0, len(ids), _BATCH):
        for profile in client.search_profiles(ids=ids[start : start + _BATCH]):
            yield {"id": profile.id, "content": {"names": (profile.content or {}).get("names", [])}}
    for start in range(0, len(addresses), _BATCH):
        profiles = client.search_profiles(confirmedEmails=addresses[start : start + _BATCH])
        for member, profile in profiles.items():
            yield {"id": profile.id, "content": {"emails": [member]}}


def _plain(thing: Any) -> dict[str, Any]:
    """Return the members of a note or group, including its details, which hold the replies."""
    if isinstance(thing, dict):
        return thing
    return {name: value for name in _MEMBERS if (value := getattr(thing, name, None)) is not None}
