"""Folders are written whole or not at all, and never at the cost of anybody's files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import peerveil as pv
from peerveil.errors import WriteError
from peerveil.support import staging
from peerveil.support.atomic_files import rename_new, staged_folder, write_new
from peerveil.support.staging import new_stage, remove_left_over

OWN = ("a.txt", "inner/b.txt")


def write(target: str | Path, text: str = "new", *, overwrite: bool = False) -> None:
    with staged_folder(target, own=OWN, overwrite=overwrite) as stage:
        (stage / "a.txt").write_text(text)
        (stage / "inner").mkdir()
        (stage / "inner" / "b.txt").write_text(text)


def under(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def never(_: object = None) -> None:
    pytest.fail("the work was done for a place that cannot be written")


WRITTEN = ["out", "out/a.txt", "out/inner", "out/inner/b.txt"]


def test_own_files_are_replaced_when_asked(tmp_path: Path) -> None:
    write(tmp_path / "out")
    with pytest.raises(pv.OutputError, match="already holds files"):
        write(tmp_path / "out")
    write(tmp_path / "out", "newer", overwrite=True)
    assert (tmp_path / "out" / "inner" / "b.txt").read_text() == "newer"
    assert under(tmp_path) == WRITTEN


@pytest.mark.parametrize("other", ["reviews.csv", "inner/secret-name.csv", "deep/down/a.txt", ".hidden"])
def test_files_of_others_are_never_replaced(tmp_path: Path, other: str) -> None:
    write(tmp_path / "out")
    place = tmp_path / "out" / other
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("mine")
    before = under(tmp_path)
    with pytest.raises(pv.OutputError, match=r"files that Peerveil does not write there \(\d\)") as caught:
        write(tmp_path / "out", overwrite=True)
    assert "secret-name" not in str(caught.value)
    assert under(tmp_path) == before
    assert place.read_text() == "mine"


def test_links_in_the_folder_are_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.txt").write_text("mine")
    write(tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "inner")
    (tmp_path / "out" / "inner").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(pv.OutputError, match=r"does not write there \(1\)"):
        write(tmp_path / "out", overwrite=True)
    assert (tmp_path / "elsewhere" / "b.txt").read_text() == "mine"


def test_files_that_came_meanwhile_are_kept(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(pv.OutputError, match="already holds files"), staged_folder(tmp_path / "out", own=OWN):
        (tmp_path / "out" / "mine.csv").write_text("mine")
    assert under(tmp_path) == ["out", "out/mine.csv"]


@pytest.mark.promise("P-KEPT-10")
def test_a_failure_leaves_no_file_and_no_parent_folder(tmp_path: Path) -> None:
    for wrong in (ValueError, SystemExit):
        with pytest.raises(wrong), staged_folder(tmp_path / "new" / "deep" / "out", own=OWN):
            raise wrong
        assert under(tmp_path) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(pv.OutputError, match="cannot be written"):
        write(tmp_path / "file" / "new" / "out")
    assert under(tmp_path) == ["file"]
    write(tmp_path / "new" / "deep" / "out")
    assert (tmp_path / "new" / "deep" / "out" / "a.txt").exists()


def test_places_that_cannot_be_replaced_are_found_on_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "absent")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    before = under(tmp_path)
    monkeypatch.chdir(tmp_path / "here")
    for place, message in {
        ".": "name a folder inside it",
        str(tmp_path / "here"): "name a folder inside it",
        str(tmp_path / "dangling"): "a broken link",
        str(tmp_path / "loop"): "a broken link",
        str(tmp_path / "loop" / "out"): "cannot be written",
        str(tmp_path / ("x" * 300)): "cannot be written",
        "": "not a valid folder name",
        "a\0b": "not a valid folder name",
    }.items():
        with pytest.raises(pv.OutputError, match=message) as caught, staged_folder(place, own=OWN):
            never()
        assert caught.value.exit_code == 2
    assert under(tmp_path) == before


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "a.txt").read_text() == "new"


def test_a_full_disk_is_no_fault_of_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(WriteError, match="No space left") as caught, staged_folder(tmp_path / "out", own=OWN):
        full()
    assert caught.value.exit_code == 1
    monkeypatch.setattr("tempfile.mkdtemp", full)
    with pytest.raises(WriteError, match="No space left"):
        write(tmp_path / "new" / "out")
    assert under(tmp_path) == []


@pytest.mark.parametrize("back", [True, False], ids=["put back", "not even put back"])
def test_the_old_folder_is_kept_until_the_new_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    write(tmp_path / "out", "old")
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if Path(target) == tmp_path / "out" and not (back and self.parent.name == "old"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(WriteError, match="Input/output error") as caught:
        write(tmp_path / "out", overwrite=True)
    if back:
        assert under(tmp_path) == WRITTEN
        assert (tmp_path / "out" / "a.txt").read_text() == "old"
    else:
        kept = Path(str(caught.value).rpartition(" ")[2])
        assert (kept / "inner" / "b.txt").read_text() == "old"


def test_what_is_written_can_be_read_by_others(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        write(tmp_path / "out")
    finally:
        os.umask(mask)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755


#: Writes half a folder, says so, and waits to be killed; `rename` fails to return at the given call.
KILLED = """
import sys, time
from pathlib import Path
from peerveil.support.atomic_files import staged_folder

def stop():
    print("here", flush=True)
    time.sleep(600)

rename, calls = Path.rename, []
def counted(self, target):
    calls.append(target)
    made = rename(self, target)
    if len(calls) == int(sys.argv[2]):
        stop()
    return made

Path.rename = counted
with staged_folder(sys.argv[1], own=["a.txt"], overwrite=True) as stage:
    (stage / "a.txt").write_text("new")
    if sys.argv[2] == "0":
        stop()
"""


def begun(target: Path, renames: int = 0) -> subprocess.Popen[str]:
    """A process that stops while it writes a folder: before, or after so many renamings."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target), str(renames)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def killed(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def hidden(folder: Path) -> list[Path]:
    return sorted(folder.glob(".peerveil-*"))


def test_folders_of_killed_processes_are_removed_by_a_later_run(tmp_path: Path) -> None:
    runs: list[Callable[[], None]] = [
        lambda: write(tmp_path / "other"),
        lambda: write_new(tmp_path / "file.txt", "text"),
    ]
    for later in runs:
        process = begun(tmp_path / "out")
        assert [path.stat().st_mode & 0o777 for path in hidden(tmp_path)] == [0o700]
        later()
        assert len(hidden(tmp_path)) == 1, "removed while its process lives"
        killed(process)
        shutil.rmtree(tmp_path / "other", ignore_errors=True)
        (tmp_path / "file.txt").unlink(missing_ok=True)
        later()
        assert hidden(tmp_path) == []


def test_living_folders_are_known_by_their_lock_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = begun(tmp_path / "out")
    monkeypatch.setattr(staging, "lives", lambda _: False)  # as in another container, where numbers differ
    remove_left_over(tmp_path)
    assert len(hidden(tmp_path)) == 1
    killed(process)
    remove_left_over(tmp_path)
    assert hidden(tmp_path) == []


def test_living_folders_are_known_by_their_process_where_locks_do_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = begun(tmp_path / "out")
    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    remove_left_over(tmp_path)
    assert len(hidden(tmp_path)) == 1
    with staged_folder(tmp_path / "mine", own=OWN) as stage:
        remove_left_over(tmp_path)
        assert stage.is_dir()
    killed(process)
    remove_left_over(tmp_path)
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("renames", [1, 2, 3], ids=["moved aside", "new stands", "old is going"])
def test_a_kill_amid_a_replacement_loses_no_folder(tmp_path: Path, renames: int) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("old")
    killed(begun(tmp_path / "out", renames))
    assert (tmp_path / "out").exists() == (renames > 1)
    remove_left_over(tmp_path)
    assert (tmp_path / "out" / "a.txt").read_text() == ("old" if renames == 1 else "new")
    texts = [path.read_text() for folder in hidden(tmp_path) for path in folder.rglob("a.txt")]
    assert texts == (["old"] if renames == 2 else [])  # in doubt it stays


def test_folders_of_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    here, there = f"{staging._boot()}-{staging._host()}", "00000000-00000000"
    kept = [
        f".peerveil-{there}-{dead.pid}-abc",  # another machine
        f".peerveil-{here}-{os.getppid()}-abc",  # a process that lives
        f".peerveil-{here}-{dead.pid}",
        f".peerveil-{here}-x-abc",
        ".peerveil-abcdefgh",  # as version 0.1.0 named them
        ".peerveil-notes",
        f"peerveil-{here}-{dead.pid}-abc",
    ]
    for name in kept:
        (tmp_path / name).mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / f".peerveil-{here}-{dead.pid}-link").symlink_to(tmp_path / "mine")
    (tmp_path / f".peerveil-{here}-{dead.pid}-file").write_text("mine")
    (tmp_path / f".peerveil-{here}-{dead.pid}-left").mkdir()
    before = under(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: os.geteuid() + 1)
        remove_left_over(tmp_path)
        assert under(tmp_path) == before
    remove_left_over(tmp_path)
    assert sorted(set(before) - set(under(tmp_path))) == [f".peerveil-{here}-{dead.pid}-left"]


def test_a_machine_knows_its_folders_after_a_new_start_and_from_its_containers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for changed in ("_boot", "_host"):
        killed(begun(tmp_path / "out"))
        with monkeypatch.context() as patch:
            patch.setattr(staging, changed, lambda: "00000000")
            remove_left_over(tmp_path)
        assert hidden(tmp_path) == []


def test_a_folder_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, seen = staging._lock, []

    def late(folder: Path, **options: bool) -> int | None:
        seen.append(folder)
        held = lock(folder, **options)
        if len(seen) == 1:
            folder.rmdir()
        return held

    monkeypatch.setattr(staging, "_lock", late)
    stage = new_stage(tmp_path)
    assert hidden(tmp_path) == [stage.folder]
    assert stage.folder != seen[0]
    stage.release()


def test_without_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(begun(tmp_path / "out"))
    before = under(tmp_path)
    monkeypatch.setattr(staging, "fcntl", None)
    write(tmp_path / "new")
    assert [name for name in under(tmp_path) if not name.startswith("new")] == before
    stage = new_stage(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(staging, "lives", lambda _: False)
    stage.release()
    remove_left_over(tmp_path)
    assert hidden(tmp_path) == [stage.folder], "it has no lock, so nobody can know whether it is in use"


@pytest.mark.parametrize("links", [True, False])
def test_renaming_never_replaces_a_file(links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", unsupported)
    file, name = tmp_path / "part", tmp_path / "file"
    file.write_text("first")
    rename_new(file, name)
    assert under(tmp_path) == ["file"]
    file.write_text("second")
    with pytest.raises(FileExistsError):
        rename_new(file, name)
    assert (name.read_text(), file.read_text()) == ("first", "second")
