"""The principal of a caller."""

from hypothesis import given
from hypothesis import strategies as st

from stepwire.principal import PRINCIPAL_PATTERN, principal_of

identities = st.lists(st.text(), min_size=1, max_size=4).map(tuple)


@given(identities, st.text())
def test_a_principal_is_32_hexadecimal_digits_and_always_the_same(identity: tuple[str, ...], salt: str) -> None:
    principal = principal_of(identity, salt)

    assert PRINCIPAL_PATTERN.fullmatch(principal)
    assert principal == principal_of(identity, salt)


@given(identities, identities)
def test_different_callers_have_different_principals(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """X28, T24."""
    assert (principal_of(one, "salt") == principal_of(other, "salt")) == (one == other)


def test_characters_cannot_shift_between_claims() -> None:
    """X28, T24: neither the borders between claims and salt nor their number can be forged."""
    callers = [
        principal_of(("ab", "c"), "s"),
        principal_of(("a", "bc"), "s"),
        principal_of(("abc",), "s"),
        principal_of(("abc", ""), "s"),
        principal_of(("", "abc"), "s"),
        principal_of(("b", "c"), "sa"),
        principal_of(("a\x00b", "c"), "s"),
    ]

    assert len(set(callers)) == len(callers)


def test_the_same_caller_is_another_principal_in_another_stack() -> None:
    assert principal_of(("jwt", "issuer", "alice"), "one") != principal_of(("jwt", "issuer", "alice"), "other")
