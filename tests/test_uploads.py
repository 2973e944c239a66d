"""How long files that people sent are kept."""

import os
import time
from pathlib import Path

from bridge import uploads


def put(path: Path, days: float) -> Path:
    """A file that came so many days ago."""
    uploads.save(path, b"data")
    at = time.time() - days * 86400
    for each in (path, path.parent):
        os.utime(each, (at, at))
    return path


def test_a_file_is_kept_for_a_month(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    old = put(inbox / "1" / "10" / "1-a.bin", 31)
    new = put(inbox / "1" / "11" / "1-a.bin", 29)
    alone = put(inbox / "2" / "20" / "1-a.bin", 31)
    uploads.sweep(inbox)
    assert new.read_bytes() == b"data"
    assert not old.parent.exists()
    assert not alone.parent.parent.exists(), "no empty folders are left"


def test_nothing_outside_is_swept(tmp_path: Path) -> None:
    """Claude may write in its inbox: what a link there leads to is not the bot's to remove."""
    inbox = tmp_path / "inbox"
    outside = put(tmp_path / "outside" / "folder" / "file", 99)
    (inbox / "1" / "10").mkdir(parents=True)
    (inbox / "1" / "10" / "link").symlink_to(outside.parent)
    (inbox / "1" / "link").symlink_to(outside.parent)
    put(inbox / "1" / "10" / "1-a.bin", 31)
    (inbox / "link").symlink_to(tmp_path / "outside")
    uploads.sweep(inbox)
    uploads.discard(inbox / "link")
    assert outside.read_bytes() == b"data"
    assert not (inbox / "1" / "10").exists()


def test_an_inbox_that_is_not_there_is_empty(tmp_path: Path) -> None:
    uploads.sweep(tmp_path / "inbox")
    uploads.discard(tmp_path / "inbox" / "1")
