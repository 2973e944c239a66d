"""Checked values of a request's query string."""

from bridge.rehearsal.discord.errors import invalid
from bridge.rehearsal.discord.rest.routing import Call


def whole_number(call: Call, name: str, default: int, low: int, high: int) -> int:
    """A bounded integer of the query string."""
    text = call.query.get(name)
    if text is None:
        return default
    if not text.isdecimal():
        raise invalid(name, "NUMBER_TYPE_COERCE", f'Value "{text}" is not int.')
    if not low <= int(text) <= high:
        raise invalid(name, "NUMBER_TYPE_MAX", f"int value should be between {low} and {high}.")
    return int(text)


def snowflake(call: Call, name: str, default: int = 0) -> int:
    """An id of the query string, as the number that ids are compared by."""
    text = call.query.get(name)
    if text is None:
        return default
    if not text.isdecimal():
        raise invalid(name, "NUMBER_TYPE_COERCE", f'Value "{text}" is not snowflake.')
    return int(text)
