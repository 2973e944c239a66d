"""Which files may leave, and how they wait for Discord."""

import os
from pathlib import Path

import pytest

from bridge import outgoing
from bridge.outgoing import Refused

LIMIT = 1000


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project folder with a file."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("text")
    return folder


def refusal(path: Path, *roots: Path) -> str:
    """Why a file may not leave."""
    with pytest.raises(Refused) as refused:
        outgoing.read(path, roots, LIMIT)
    return str(refused.value)


def test_a_file_of_the_project_may_leave(project: Path) -> None:
    file = outgoing.read(project / "a.txt", [project], LIMIT)
    assert (file.name, file.data) == ("a.txt", b"text")
    (project / "deep").mkdir()
    (project / "deep" / "link").symlink_to(project / "a.txt")
    assert outgoing.read(project / "deep" / "link", [project], LIMIT).data == b"text"


def test_a_project_that_is_reached_by_a_link_is_one(project: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(project)
    assert outgoing.read(tmp_path / "way" / "a.txt", [tmp_path / "way"], LIMIT).data == b"text"


def test_nothing_leaves_from_elsewhere(project: Path, tmp_path: Path) -> None:
    (tmp_path / "project-2").mkdir()
    for place in (tmp_path / "b.txt", tmp_path / "project-2" / "b.txt"):
        place.write_text("secret")
        (project / "link").symlink_to(place)
        for path in (place, project / "link", project / ".." / place.relative_to(tmp_path)):
            assert "only files of the project folder" in refusal(path, project)
        (project / "link").unlink()
    (project / "folder").symlink_to(tmp_path)
    assert "only files of the project folder" in refusal(project / "folder" / "b.txt", project)
    assert "only files of the project folder" in refusal(Path("/proc/self/environ"), project)


def test_what_is_no_file_is_refused_without_waiting(project: Path) -> None:
    os.mkfifo(project / "pipe")
    assert refusal(project / "pipe", project) == "it is not a file"
    assert refusal(project, project) == "it is not a file"
    assert "No such file" in refusal(project / "none", project)
    (project / "empty").touch()
    assert refusal(project / "empty", project) == "it is empty"


def test_a_file_over_the_limit_is_explained(project: Path) -> None:
    (project / "big").write_bytes(b"\0" * (LIMIT + 1))
    with pytest.raises(Refused, match=r"it has 0.0 MB, and Discord takes 0.0 MB here; compress"):
        outgoing.read(project / "big", [project], LIMIT)
    (project / "big").write_bytes(b"\0" * LIMIT)
    assert len(outgoing.read(project / "big", [project], LIMIT).data) == LIMIT


@pytest.mark.parametrize(
    "name",
    [
        *(".env", ".env.production", "id_rsa", "id_ed25519", "server.pem", "tls.key", ".netrc"),
        *(".npmrc", "credentials.json", ".credentials.json", "secrets.yaml", "client_secret.json"),
        *(".git-credentials", "service-account-7.json", ".ssh/config", ".git/config", "x/.aws/y"),
    ],
)
def test_credentials_do_not_leave(project: Path, name: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    (project / "harmless.txt").symlink_to(path)
    assert refusal(path, project)
    assert refusal(project / "harmless.txt", project), "nor under another name"


@pytest.mark.parametrize("name", [".env.example", "monkey.txt", "keys.md", "environment.yml"])
def test_what_only_sounds_like_credentials_leaves(project: Path, name: str) -> None:
    (project / name).write_text("x")
    assert outgoing.read(project / name, [project], LIMIT).data == b"x"


def test_a_text_with_a_key_in_it_does_not_leave(project: Path) -> None:
    (project / "notes.txt").write_text("the key is sk-ant-api03-abcdefghijklmnop1234567890")
    assert "a key or a token" in refusal(project / "notes.txt", project)


# --- parcels --------------------------------------------------------------------------------------
def test_what_lies_in_the_outbox_becomes_a_parcel_once(tmp_path: Path) -> None:
    assert outgoing.collect(tmp_path) is None
    box = outgoing.outbox(tmp_path)
    (box / "sub").mkdir(parents=True)
    assert outgoing.collect(tmp_path) is None, "folders alone are nothing to send"
    (box / "b.txt").write_text("b")
    (box / "sub" / "a.txt").write_text("a")
    parcel = outgoing.collect(tmp_path)
    assert parcel is not None
    assert [path.name for path in parcel.paths()] == ["b.txt", "a.txt"]
    assert list(box.iterdir()) == []
    assert outgoing.collect(tmp_path) is None
    assert outgoing.parcels(tmp_path) == [parcel]
    for path in parcel.paths():
        path.unlink()
    parcel.done()
    assert outgoing.parcels(tmp_path) == []


def test_a_parcel_with_something_left_in_it_stays(tmp_path: Path) -> None:
    outgoing.outbox(tmp_path).mkdir()
    (outgoing.outbox(tmp_path) / "a").write_text("a")
    parcel = outgoing.collect(tmp_path)
    assert parcel is not None
    with pytest.raises(OSError, match="not empty"):
        parcel.done()
    assert outgoing.parcels(tmp_path) == [parcel]


def test_what_cannot_be_sent_is_kept(tmp_path: Path) -> None:
    (outgoing.outbox(tmp_path) / "x").mkdir(parents=True)
    (outgoing.outbox(tmp_path) / "x" / "a").write_text("a")
    parcel = outgoing.collect(tmp_path)
    assert parcel is not None
    kept = outgoing.set_aside(parcel, parcel.paths()[0])
    assert (kept.name, kept.read_text()) == ("x-a", "a")
    parcel.done()
    assert outgoing.parcels(tmp_path) == []


def test_a_link_in_place_of_the_outbox_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a").write_text("a")
    (tmp_path / "files").mkdir()
    outgoing.outbox(tmp_path / "files").symlink_to(tmp_path / "elsewhere")
    assert outgoing.collect(tmp_path / "files") is None
    box = tmp_path / "other" / "outbox"
    box.mkdir(parents=True)
    (box / "folder").symlink_to(tmp_path / "elsewhere")
    parcel = outgoing.collect(tmp_path / "other")
    assert parcel is not None
    assert [path.name for path in parcel.paths()] == ["folder"]
    assert "only files" in refusal(parcel.paths()[0] / "a", parcel.folder)
