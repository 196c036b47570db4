"""The hash table of walks over rules finds what a dictionary finds."""

import itertools

import numpy as np
import pytest

from mccfr_spiel.arenas.rules import kernel
from mccfr_spiel.arenas.rules.kernel import (
    MOST_USED,
    SLOT,
    enter_key,
    find_key,
    larger_table,
)

pytestmark = pytest.mark.both


@pytest.mark.parametrize("num_hashes", [1, 7, 10_000])
def test_keys_are_found_by_all_their_numbers_whatever_their_hashes(num_hashes):
    generator = np.random.default_rng(4)
    hashes = generator.integers(0, 2**64, num_hashes, np.uint64)
    # Keys are prefixes of one another, and equal but for one number.
    keys = [key for n in range(6) for key in itertools.product((0, 65535), repeat=n)]
    generator.shuffle(keys)
    hash_of = {key: hashes[k % num_hashes] for k, key in enumerate(keys)}
    values = np.zeros(sum(map(len, keys)), np.uint16)
    rows = np.zeros(len(keys) + 1, kernel.ROW)
    table, known = np.zeros(4, SLOT), {}
    for key in keys:
        for other in (key, *keys[:: len(keys) // 5]):
            row = np.array([*other, 77], np.int64)  # of which the last does not count
            found = find_key(values, rows, table, hash_of[other], row, len(other))
            assert max(found, -1) == known.get(other, -1)
        row = np.array(key, np.int64)
        found = find_key(values, rows, table, hash_of[key], row, len(key))
        number = known[key] = len(known)
        start = rows[number]["start"]
        values[start : start + len(key)] = key
        rows[number + 1]["start"] = start + len(key)
        enter_key(table, found, hash_of[key], number)
        if len(known) >= MOST_USED * len(table):
            table = larger_table(table, len(known) + 1)
    assert len(known) == len(keys) == np.count_nonzero(table)
    # A number that does not fit 16 bits is that of no key, whatever its lower bits are.
    row = np.array([2**16], np.int64)
    assert find_key(values, rows, table, hash_of[(0,)], row, 1) < 0
