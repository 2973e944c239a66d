# Sourced by try and test: finds Python, keeps .venv in step with pyproject.toml.
# shellcheck shell=sh

say() {
    printf '== %s\n' "$*"
}

fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    for line; do
        printf '  -> %s\n' "$line" >&2
    done
    exit 1
}

# Sets $python to the first interpreter that is new enough and can make virtual environments.
find_python() {
    old='' crippled=''
    for python in python3.13 python3.12 python3.11 python3.14 python3 python; do
        command -v "$python" >/dev/null 2>&1 || continue
        if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            old=$python
        elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            crippled=$python
        else
            return 0
        fi
    done
    [ -z "$crippled" ] || fail "$crippled cannot make virtual environments." \
        "Debian, Ubuntu: sudo apt install python3-venv" \
        "then run this again"
    [ -z "$old" ] || fail "Python 3.11 or newer is needed, $("$old" --version 2>&1) was found." \
        "Debian 12, Ubuntu 24.04 and newer: sudo apt install python3 python3-venv" \
        "elsewhere: https://www.python.org/downloads/, then run this again"
    fail "Python 3.11 or newer is needed, none was found on PATH." \
        "Debian, Ubuntu: sudo apt install python3 python3-venv" \
        "elsewhere: https://www.python.org/downloads/, then run this again"
}

# ensure_venv EXTRA: .venv holds the project with that extra ('' for none); quick when it does already.
# A virtual environment has absolute paths inside, so a moved folder counts as changed.
ensure_venv() {
    venv=$root/.venv
    stamp="$(cksum <"$root/pyproject.toml") $root"
    if [ -x "$venv/bin/python" ] && "$venv/bin/python" -c 'import pip' 2>/dev/null &&
        { [ ! -e "$venv/installed-at" ] || [ "$(cat "$venv/installed-at")" = "$root" ]; }; then
        if [ "$(cat "$venv/installed-$1" 2>/dev/null)" = "$stamp" ]; then
            say "Python environment is up to date: $venv"
            return 0
        fi
    else
        find_python
        say "Making a Python environment: $venv ($("$python" --version 2>&1))"
        "$python" -m venv --clear "$venv" || fail "$python could not make $venv." \
            "Look at the message above; Debian, Ubuntu: sudo apt install python3-venv"
        printf '%s\n' "$root" >"$venv/installed-at"
    fi
    say "Installing the project${1:+ with extra \"$1\"} (the first time takes a minute or two)"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --editable "$root${1:+[$1]}" || fail "The installation failed." \
        "Look at the message above; when the network or the disk is well again, run this again"
    printf '%s\n' "$stamp" >"$venv/installed-$1"
}
