"""Folders are written whole or not at all, and never at the cost of anybody's files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import peerveil as pv
from peerveil.files import WriteError, staged_folder

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
    with pytest.raises(pv.OutputError, match="holds files already"):
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
    with pytest.raises(pv.OutputError, match=r"other files than Peerveil writes there, \d of them") as caught:
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
    with pytest.raises(pv.OutputError, match="1 of them"):
        write(tmp_path / "out", overwrite=True)
    assert (tmp_path / "elsewhere" / "b.txt").read_text() == "mine"


def test_files_that_came_meanwhile_are_kept(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(pv.OutputError, match="holds files already"), staged_folder(tmp_path / "out", own=OWN):
        (tmp_path / "out" / "mine.csv").write_text("mine")
    assert under(tmp_path) == ["out", "out/mine.csv"]


def test_a_failure_leaves_nothing_behind_not_even_parents(tmp_path: Path) -> None:
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
        str(tmp_path / "dangling"): "a link that leads nowhere",
        str(tmp_path / "loop"): "a link that leads nowhere",
        str(tmp_path / "loop" / "out"): "cannot be written",
        str(tmp_path / ("x" * 300)): "cannot be written",
        "": "no name of a folder",
        "a\0b": "no name of a folder",
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
        if Path(target).name == "out" and not (back and self.name == "old"):
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
