from collections.abc import Generator
from pathlib import Path

import pytest

from tests.shim.harness import Starter


@pytest.fixture
def start(tmp_path: Path) -> Generator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    starter.close()
