import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bridge.shim import StderrLog, outcome


@given(limit=st.integers(1, 50), parts=st.lists(st.binary(max_size=120), max_size=12))
def test_the_log_keeps_the_newest_bytes_within_its_limit(limit: int, parts: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = StderrLog(f"{folder}/stderr", limit)
        for part in parts:
            log.write(part)
        files = [Path(folder, name) for name in ("stderr.1", "stderr")]
        kept = [file.read_bytes() if file.exists() else b"" for file in files]
    everything = b"".join(parts)
    assert everything.endswith(b"".join(kept))
    assert all(len(part) <= limit for part in kept)
    assert sum(map(len, kept)) >= min(limit, len(everything))


def test_a_log_that_cannot_be_written_stalls_nothing(tmp_path: Path) -> None:
    StderrLog(str(tmp_path / "no such folder" / "stderr"), 10).write(b"x" * 100)


def test_an_outcome_is_a_code_or_a_signal_or_unknown() -> None:
    assert outcome(3) == '"code": 3, "signal": null'
    assert outcome(-9) == '"code": null, "signal": 9'
    assert outcome(None) == '"code": null, "signal": null'
