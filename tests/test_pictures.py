"""What the API is shown of pictures: nothing that it would refuse, and with it the conversation."""

import base64
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from bridge.pictures import MAX_BYTES, MAX_EDGE, fitting
from bridge.rehearsal.model.images import complaint
from tests.support.paintings import painted, size_of


def accepted(data: bytes) -> bool:
    """Whether there is a picture to show, which then is one that the API takes."""
    picture = fitting(data)
    if picture is None:
        return False
    encoded = base64.b64encode(picture.data).decode()
    assert complaint(picture.media_type, encoded, many=True) is None
    assert max(size_of(picture.data)) <= MAX_EDGE
    return True


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_what_fits_stays_as_it_is(kind: str) -> None:
    data = painted(kind, 30, 20)
    picture = fitting(data)
    assert picture is not None
    assert (picture.media_type, picture.data) == (f"image/{kind.lower()}", data)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_what_is_too_wide_is_made_smaller_in_its_proportions(kind: str) -> None:
    picture = fitting(painted(kind, 4400, 1100))
    assert picture is not None
    assert size_of(picture.data) == (2000, 500)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA"])
def test_what_is_too_heavy_is_made_lighter(mode: str) -> None:
    data = painted("PNG", 1900, 1900, mode=mode, noise=True)
    if len(data) > MAX_BYTES:
        assert (fitting(data) or pytest.fail("it is a picture")).data != data
    assert accepted(data)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("BMP", "RGB"), ("TIFF", "CMYK"), ("TIFF", "I;16"), ("PPM", "RGB"), ("ICO", "RGBA")],
)
def test_kinds_that_the_api_does_not_know_are_translated(kind: str, mode: str) -> None:
    data = painted(kind, 64, 64, mode=mode)
    picture = fitting(data)
    assert picture is not None
    assert picture.media_type == "image/png"
    assert accepted(data)


def test_a_photograph_is_upright_once_it_is_written_anew() -> None:
    buffer = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.new("RGB", (4000, 1000)).save(buffer, "JPEG", exif=exif)
    picture = fitting(buffer.getvalue())
    assert picture is not None
    assert size_of(picture.data) == (500, 2000)


def test_a_picture_larger_than_memory_allows_is_not_decoded() -> None:
    assert fitting(painted("PNG", 9000, 8000, mode="1")) is None


@pytest.mark.parametrize("data", [b"", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", b"x"])
def test_what_is_no_picture_is_none(data: bytes) -> None:
    assert fitting(data) is None


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_torn_picture_is_none(kind: str) -> None:
    whole = painted(kind, 90, 70, noise=True)
    for length in range(0, len(whole) - 20, len(whole) // 20):
        assert fitting(whole[:length]) is None


KINDS = [painted(kind, 40, 30, noise=True) for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP")]


@given(st.sampled_from(KINDS), st.data())
@settings(deadline=None)
def test_however_damaged_what_is_shown_can_be_decoded(whole: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(whole) - 1))
    picture = fitting(whole[:at] + data.draw(st.binary(min_size=1, max_size=8)) + whole[at + 1 :])
    assert picture is None or max(size_of(picture.data)) <= MAX_EDGE
