"""Paths as people write them."""

from pathlib import Path


def absolute(text: str, folder: Path, home: Path) -> Path:
    """`text` as an absolute path that starts at `folder`; "~" is `home`, not this user's own."""
    first, *rest = Path(text).parts or (".",)
    return home.joinpath(*rest) if first == "~" else folder.absolute() / text
