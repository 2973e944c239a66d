"""The checker itself: what it must notice."""

from typing import Any

import pytest

from bridge.rehearsal.discord import Exchange
from tests.support.conform import SPEC, Spec, load

pytestmark = pytest.mark.skipif(not SPEC.exists(), reason=f"no API description at {SPEC}")

USER: dict[str, Any] = {
    "id": "1",
    "username": "u",
    "avatar": None,
    "discriminator": "0",
    "public_flags": 0,
    "flags": 0,
    "global_name": None,
    "primary_guild": None,
}


@pytest.fixture
def spec() -> Spec:
    return load(SPEC)


def exchange(
    method: str = "GET",
    path: str = "/users/1",
    request: Any = None,
    status: int = 200,
    response: Any = USER,
    **more: Any,
) -> Exchange:
    return Exchange(method, path, None, request, status, response, 0.0, **more)


def test_a_correct_exchange_has_no_violation(spec: Spec) -> None:
    assert spec.check(exchange()) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (exchange(path="/nowhere"), "no such operation"),
        (exchange(method="DELETE"), "no such operation"),
        (exchange(response={"id": "1"}), "is a required property"),
        (exchange(response=USER | {"flags": "0"}), "flags"),
        (exchange(status=302), "status 302 is not described"),
        (exchange(request={"a": 1}), "takes no body"),
        (exchange(query={"odd": "1"}), "query 'odd' is not described"),
        (exchange(status=404, response={"code": "x", "message": "m"}), "code"),
    ],
)
def test_each_kind_of_violation_is_noticed(spec: Spec, wrong: Exchange, said: str) -> None:
    assert any(said in violation for violation in spec.check(wrong))


def test_request_keys_must_be_described(spec: Spec) -> None:
    sent = exchange("POST", "/channels/1/typing", status=204, response=None)
    assert spec.check(sent) == []
    body = {"content": "x", "contents": "y"}
    found = spec.check(exchange("POST", "/channels/1/messages", body, status=400, response={
        "code": 1, "message": "m"}))  # fmt: skip
    assert found == ["POST /channels/1/messages: request key 'contents' is not described"]


def test_a_failed_union_shows_the_branch_that_got_furthest(spec: Spec) -> None:
    body = {"type": 4, "data": {"content": "x" * 2001}}
    path = "/interactions/1/t/callback"
    found = spec.check(exchange("POST", path, body, status=204, response=None))
    assert "too long" in found[0]


def test_literal_segments_win_over_parameters(spec: Spec) -> None:
    me = USER | {"mfa_enabled": False, "locale": "en-US"}
    assert spec.check(exchange(path="/users/@me", response=me)) == []
    assert spec.check(exchange(path="/users/@me")) != []


def test_rehearsed_server_errors_are_not_checked(spec: Spec) -> None:
    assert spec.check(exchange(status=502, response={"odd": True}, fault="fail")) == []


def test_a_failure_of_the_loopback_discord_is_a_violation(spec: Spec) -> None:
    assert spec.check(exchange(status=500)) == ["GET /users/1: the loopback Discord itself failed"]
