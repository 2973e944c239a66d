"""What is hidden and what is not. The credentials are made up and put together here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.render.secrets import mask
from tests.render.markdown import untimed

BODY = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 4
SECRETS = [
    "sk-ant-" + f"api03-{BODY}",
    "gh" + f"p_{BODY[:36]}",
    "github" + f"_pat_{BODY[:60]}",
    "gl" + f"pat-{BODY[:20]}",
    "AK" + "IAABCDEFGHIJ234567",
    "xo" + f"xb-123456789012-{BODY[:24]}",
    "AI" + f"za{BODY[:35]}",
    "np" + f"m_{BODY[:36]}",
    "sk" + f"-proj-{BODY[:48]}",
    "sk" + f"_live_{BODY[:24]}",
    f"MT{BODY[:22]}.Gx{BODY[:4]}.{BODY[:38]}",
    f"eyJ{BODY[:20]}.eyJ{BODY[:20]}.{BODY[:30]}",
]
HARMLESS = [
    "Authorization: Bearer $TOKEN",
    "Bearer <your token here>",
    "bearer of-the-authentication-middleware",
    "ANTHROPIC_API_KEY=sk-ant-...",
    'token = os.environ["DISCORD_TOKEN"]',
    "API_TOKEN = settings.read_token_v2(path)",
    "MAX_TOKEN=4096",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "550e8400-e29b-41d4-a716-446655440000",
    "class sk-loading-spinner-with-a-very-long-name-indeed",
    "https://example.org/a:b@c and ssh://git@example.org/x.git",
    "postgres://user:${PASSWORD}@db/x",
    "-----BEGIN PRIVATE KEY----- begins such a file and nothing is hidden here",
    "npm_config_registry and hf_hub_download",
    "www.example.org.some-very-long-name-of-a-host-in-a-domain.net",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_hidden_wherever_it_stands(secret: str) -> None:
    for frame in ("{}", "key: '{}'.", "`{}`", "a\n{}\nb", "X={}&y"):
        masked = mask(frame.format(secret))
        assert secret[12:] not in masked
        assert "***" in masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"Authorization: Bearer {BODY[:30]}", "Authorization: Bearer ***"),
        (f"DISCORD_TOKEN={BODY[:30]}\n", "DISCORD_TOKEN=***\n"),
        (f'"MY_API_KEY": "{BODY[:30]}"', '"MY_API_KEY": "***"'),
        ("postgres://user:hunter22@db/x", "postgres://user:***@db/x"),
        (f"/api/webhooks/123456789012345678/{BODY[:60]}", "/api/webhooks/123456789012345678/***"),
        (
            f"-----BEGIN RSA PRIVATE KEY-----\n{BODY[:64]}\n{BODY[:20]}\n-----END",
            "-----BEGIN RSA PRIVATE KEY-----***\n-----END",
        ),
    ],
)
def test_the_kind_of_a_secret_stays_readable(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_stays(text: str) -> None:
    assert mask(text) == text


pieces = st.lists(
    st.one_of(st.sampled_from(SECRETS + HARMLESS), st.text("aB3_-./:=@ '\"\n*", max_size=30)),
    max_size=8,
)


@untimed
@given(pieces, st.sampled_from(["", " ", "\n", "="]))
def test_masking_never_lengthens_and_has_no_more_to_do_after_once(
    parts: list[str], between: str
) -> None:
    text = between.join(parts)
    masked = mask(text)
    assert len(masked) <= len(text)
    assert mask(masked) == masked
