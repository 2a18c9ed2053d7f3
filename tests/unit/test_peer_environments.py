"""The environments of peers are shared by checkouts: they neither mix nor half exist."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from peers.environments import PLACE, Environment, PeerMissingError, interpreter, main


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for environments in which nothing is."""
    monkeypatch.setenv(PLACE, str(tmp_path / "peers"))
    return tmp_path / "peers"


def test_the_error_for_a_missing_peer_has_the_install_command() -> None:
    """A test that needs it fails with the command instead of being skipped."""
    with pytest.raises(
        PeerMissingError,
        match=(
            r"a2a-sdk-1\.3\.0 is not installed in "
            r".*/peers/a2a-sdk-1\.3\.0-3\.\d+-\w{8}: run `make peers`"
        ),
    ):
        interpreter("a2a-sdk-1.3.0")


def test_other_pins_use_another_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkouts with different pins do not change each other's peers; the default folder is the
    user's cache.
    """
    one = Environment("peer", ("tea==1",))
    other = Environment("peer", ("tea==2",))
    assert one.folder != other.folder
    assert {one.folder.parent, other.folder.parent} == {place}
    monkeypatch.delenv(PLACE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert one.folder.parent == Path("/somewhere/a2a-gen/peers")


def test_it_is_installed_once(place: Path) -> None:
    """Of several that install at the same time one does, and the others get what it made; what was
    left half made is made anew.
    """
    peer = Environment("empty", ())
    (peer.folder / "bin").mkdir(parents=True)
    (peer.folder / "left-behind").touch()
    with ThreadPoolExecutor() as pool:
        assert set(pool.map(lambda _: peer.install(), range(4))) == {peer.folder / "bin" / "python"}
    assert not (peer.folder / "left-behind").exists()
    (peer.folder / "mine").touch()
    assert peer.install().exists()
    assert (peer.folder / "mine").exists()
    assert main([]) == 0
    assert {path.name for path in place.iterdir()} == {peer.folder.name, f"{peer.folder.name}.lock"}
