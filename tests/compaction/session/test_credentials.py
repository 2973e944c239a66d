"""What looks like a credential, and what only reads like one."""

import pytest

from compaction.credentials import holds_credential

MIXED = "a1B2c3D4e5F6g7H8"


def parts(*pieces: str) -> str:
    """Joined here, so that this file itself holds no credential."""
    return "".join(pieces)


REAL = {
    "an API key": parts("sk-", "ant-api03-", MIXED * 3),
    "a project key": parts("sk-", "proj-", MIXED * 2),
    "a payment key": parts("sk_", "live_", MIXED),
    "a host's token": parts("ghp_", MIXED * 2),
    "a fine-grained token": parts("github_", "pat_", MIXED * 2),
    "a lab's token": parts("glpat-", MIXED),
    "a chat token": parts("xoxb-", "1234567890-", MIXED),
    "a package token": parts("npm_", MIXED * 2, "abcd"),
    "an index token": parts("pypi-", MIXED * 4),
    "a hub token": parts("hf_", MIXED * 2),
    "a cloud id": parts("AKIA", "ABCDEFGH12345678"),
    "a map key": parts("AIza", MIXED * 2, "abc"),
    "a web token": parts(
        "eyJ", "hbGciOiJIUzI1NiJ9", ".eyJ", "zdWIiOiIxMjM0NTY3ODkwIn0", ".", MIXED
    ),
    "a bot's token": parts("MTA4NzY1NDMyMTA5ODc2NTQz", ".", "GaBcDe", ".", MIXED * 2),
    "a private key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA\n",
    "an old private key": "-----BEGIN RSA PRIVATE KEY-----",
    "a database's address": parts("postgres://app:", "hunter2hunter2", "@db.internal/app"),
    "an assigned password": f"DB_PASSWORD={MIXED}",
    "an exported token": f"export MY_TOKEN='{MIXED}x'",
    "a token in YAML": f"  api_key: {MIXED}\n",
    "a token in JSON": f'{{\n  "access_token": "{MIXED}"\n}}',
    "an answer of a server": f'{{"token_type":"bearer","access_token":"{MIXED}","expires_in":9}}',
    "a secret among others": f"DEBUG=1\nAPP_SECRET={MIXED}\nPORT=80\n",
}

ORDINARY = {
    "a look-up": 'password = os.environ["DB_PASSWORD"]',
    "a call": "token = get_token(request.headers['Authorization'])",
    "a declaration": "    access_token: str | None = None",
    "an attribute": "self.secret = settings.secret_for_2fa",
    "a placeholder": "API_KEY=your-api-key-here",
    "a shell variable": "export TOKEN=$GITHUB_TOKEN",
    "a short value": "password: hunter2",
    "a hash": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "a commit": "commit 1f0c2bd6a4e24a5fbb6aee0b9d3a4c5e6f708192\nAuthor: A <a@b.c>",
    "a uuid": "session 3f2504e0-4f89-41d3-9a0c-0305e82c3301 ended",
    "a lock file": '"integrity": "sha512-Zm9vYmFyYmF6cXV4cXV1eGNvcmdlZ3JhdWx0Z2FycGx5d2FsZG8=",',
    "a resolved package": 'resolved "https://registry.example/left-pad/-/left-pad-1.3.0.tgz#5b8a3a7"',
    "an address with a port": "see http://localhost:8080/path@2 and git@host:me/it.git",
    "a template": "postgres://{user}:{password}@{host}/{name}",
    "a certificate": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "a public key": "-----BEGIN PUBLIC KEY-----",
    "words with a dash": "task-management-of-the-whole-organisation-in-one-place",
    "a CSS class": "class='sk-fading-circle sk-circle-with-long-class-name'",
    "a module's path": "some_long_application_name.models.user_profile_settings_of_accounts",
    "a test's name": "tests/unit/test_token_refresh_after_2_hours.py::test_a PASSED",
    "a page": '{"next_page_token": null, "cache_key": "a1B2c3D4e5F6g7H8"}',
    "a count": "total_tokens: 123456789012345678",
    "prose": "The token is a key to the secret; keep the password in 1 place.",
}  # fmt: skip


@pytest.mark.parametrize("words", REAL.values(), ids=REAL)
def test_real_forms_are_seen(words: str) -> None:
    assert holds_credential({}, words)
    assert holds_credential({}, f"first line\n{words}\nlast line")
    assert holds_credential({"command": f"\n{words}\n"}, "")


@pytest.mark.parametrize("words", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_text_is_none(words: str) -> None:
    assert not holds_credential({}, words)
    assert not holds_credential({"edits": [{"new_string": words}]}, f"first line\n{words}\nlast")


@pytest.mark.parametrize(
    "name",
    [".env", ".env.production", "id_ed25519", "server.key", "cert.pem", ".npmrc", ".netrc",
     "credentials.json", ".git-credentials"],
)  # fmt: skip
def test_files_that_hold_credentials_are_known_by_name(name: str) -> None:
    assert holds_credential({"file_path": f"/srv/app/{name}"}, "nothing to see")


@pytest.mark.parametrize(
    "name",
    [".env.example", "keyboard.py", "environment.py", "tokens.py", "key.md", "credentials.py"],
)
def test_other_files_are_not(name: str) -> None:
    assert not holds_credential({"file_path": f"/srv/app/{name}"}, "nothing to see")
