"""Masking: credentials by the name of their field and by their form, and nothing else."""

import time

import pytest

from compaction.jev.redact import MASK, is_secret_name, mask_text, mask_value


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "DB_PASSWORD",
        "dbPassword",
        "api_key",
        "apiKey",
        "X-API-Key",
        "authToken",
        "access_token",
        "client-secret",
        "Authorization",
        "cookie",
        "AWS_SECRET_ACCESS_KEY",
        "privateKey",
        "credentials",
        "TOKEN",
    ],
)
def test_names_of_credentials_are_known_in_any_spelling(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "maxToken",
        "token_count",
        "file_path",
        "key",
        "keyboard",
        "author",
        "command",
        "passenger",
        "old_string",
        "token_type",
        "secretary",
        "tokens",
    ],
)
def test_names_that_only_resemble_them_are_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("use sk-ant-REDACTED_secretpart now", f"use {MASK} now"),
        ("ghp_abcdefghijklmnopqrstuvwx01", MASK),
        ("AKIAIOSFODNN7EXAMPLE", MASK),
        ("a eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0 b", f"a {MASK} b"),
        ("Authorization: Bearer abc.def-123456", f"Authorization: Bearer {MASK}"),
        ("git clone https://me:pa55word@host/x", f"git clone https://me:{MASK}@host/x"),
        ("export DB_PASSWORD=hunter22 && run", f"export DB_PASSWORD={MASK} && run"),
        ('{"api_key": "abcdefgh"}', f'{{"api_key": "{MASK}"}}'),
        ("mysql --password hunter2 -u root", f"mysql --password {MASK} -u root"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest",
            f"{MASK}\nrest",
        ),
        ("-----BEGIN PRIVATE KEY-----\nabc", MASK),
    ],
)
def test_credentials_are_known_by_their_form(text: str, masked: str) -> None:
    assert mask_text(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "cat src/token.py",
        "grep -rn password .",
        "PASSWORD=$DB_PASSWORD run",
        "https://example.com/a:b",
        "the max_tokens option",
        "",
    ],
)
def test_what_names_no_value_is_left_as_it_is(text: str) -> None:
    assert mask_text(text) == text


def test_values_are_masked_at_any_depth_and_the_original_stays() -> None:
    value = {
        "env": [{"token": "abc", "n": 1}],
        "headers": {"cookie": {"a": "b"}},
        "use_password": False,
        "secret": None,
        "ok": "fine",
    }
    assert mask_value(value) == {
        "env": [{"token": MASK, "n": 1}],
        "headers": {"cookie": MASK},
        "use_password": False,
        "secret": None,
        "ok": "fine",
    }
    assert value["headers"] == {"cookie": {"a": "b"}}


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "token" * 40_000,
        "M" * 200_000,
        "sk-" * 60_000,
        "-----BEGIN PRIVATE KEY-----" * 5_000,
        "a.b-" * 50_000 + "=",
        "http://" * 30_000,
        "bearer " * 30_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_makes_masking_slow(text: str) -> None:
    began = time.process_time()
    mask_text(f"key {text}")
    # No figure of speed, only a bound that quadratic work would exceed many times.
    assert time.process_time() - began < 10
