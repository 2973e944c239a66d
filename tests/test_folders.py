"""Only folders below the allowed roots can be chosen, whatever leads there."""

from pathlib import Path

import pytest

from bridge import folders
from bridge.folders import Outside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("work/web/src", "work/api", "work/.git", "secret"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work" / "file").touch()
    (tmp_path / "work" / "way-out").symlink_to(tmp_path / "secret")
    (tmp_path / "work" / "inside").symlink_to(tmp_path / "work" / "web")
    return tmp_path / "work"


def test_a_folder_is_named_whole_or_from_a_root_on(root: Path) -> None:
    assert folders.resolve("web", [root]) == root / "web"
    assert folders.resolve(f" {root}/web/src ", [root]) == root / "web" / "src"
    assert folders.resolve(str(root), [root]) == root
    assert folders.resolve("inside", [root]) == root / "web"


@pytest.mark.parametrize(
    "text", ["", "  ", "nothing", "file", "../secret", "way-out", "/", "web/../../secret"]
)
def test_what_is_not_below_a_root_is_refused(root: Path, text: str) -> None:
    with pytest.raises(Outside):
        folders.resolve(text, [root])
    with pytest.raises(Outside):
        folders.resolve(str(root.parent / "secret"), [root])


def test_completions_offer_what_is_there_and_neither_links_nor_hidden_folders(root: Path) -> None:
    assert folders.completions("", [root]) == [root, root / "api", root / "web"]
    assert folders.completions("WE", [root]) == [root / "web"]
    assert folders.completions(f"{root}/web/", [root]) == [root / "web" / "src"]
    assert folders.completions("/secret", [root]) == []
    assert folders.completions("", [root / "gone"]) == [root / "gone"]


def test_no_more_is_offered_than_discord_shows(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"p{number}").mkdir()
    assert len(folders.completions("", [tmp_path])) == folders.MOST
