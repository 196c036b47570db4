"""The hash table of rows agrees with a dictionary."""

import itertools

import numpy as np
import pytest

from mccfr_spiel.arenas.rules.row_table import (
    MOST_USED,
    ROW,
    SLOT,
    enter_key,
    find_key,
    larger_table,
)

pytestmark = pytest.mark.both


@pytest.mark.parametrize("num_hashes", [1, 7, 10_000])
def test_keys_with_equal_hashes_are_distinguished(num_hashes):
    generator = np.random.default_rng(4)
    hashes = generator.integers(0, 2**64, num_hashes, np.uint64)
    # Many keys are prefixes of others or differ in one entry only.
    keys = [key for n in range(6) for key in itertools.product((0, 65535), repeat=n)]
    generator.shuffle(keys)
    hash_of = {key: hashes[k % num_hashes] for k, key in enumerate(keys)}
    values = np.zeros(sum(map(len, keys)), np.uint16)
    rows = np.zeros(len(keys) + 1, ROW)
    table, numbers = np.zeros(4, SLOT), {}
    for key in keys:
        for other in (key, *keys[:: len(keys) // 5]):
            row = np.array([*other, 77], np.int64)  # the last entry is ignored
            found = find_key(values, rows, table, hash_of[other], row, len(other))
            assert max(found, -1) == numbers.get(other, -1)
        row = np.array(key, np.int64)
        found = find_key(values, rows, table, hash_of[key], row, len(key))
        number = numbers[key] = len(numbers)
        start = rows[number]["start"]
        values[start : start + len(key)] = key
        rows[number + 1]["start"] = start + len(key)
        enter_key(table, found, hash_of[key], number)
        if len(numbers) >= MOST_USED * len(table):
            table = larger_table(table, len(numbers) + 1)
    assert len(numbers) == len(keys) == np.count_nonzero(table)
    # An entry beyond 16 bits matches no key, even if its lower 16 bits do.
    row = np.array([2**16], np.int64)
    assert find_key(values, rows, table, hash_of[(0,)], row, 1) < 0
