"""What a term's events are named."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.events.term import random_uuid


@given(st.integers(min_value=0, max_value=2**128 - 1))
def test_a_random_uuid_is_what_the_standard_library_makes_of_the_same_bits(bits):
    assert random_uuid(bits) == str(uuid.UUID(int=bits, version=4))


@pytest.mark.parametrize("bits", [0, 2**128 - 1])
def test_neither_no_bits_nor_all_of_them_make_another_version(bits):
    found = uuid.UUID(random_uuid(bits))
    assert (found.version, found.variant) == (4, uuid.RFC_4122)
