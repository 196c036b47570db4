"""Final tables of many runs, compared with golden_bits.json."""

import json

import pytest

from tests.golden_bits import FILE, RUNS, is_compiled, result

MODES = {True: pytest.mark.compiled, False: pytest.mark.interpreted}


def test_every_run_is_recorded():
    assert json.loads(FILE.read_text()).keys() == RUNS.keys()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MODES[is_compiled(name)]) for name in RUNS]
)
def test_tables_equal_record(name):
    recorded, mine = json.loads(FILE.read_text())[name], result(name)
    sums = recorded.pop("sums", {})
    assert mine.pop("sums", {}) == pytest.approx(sums, rel=1e-11)
    assert mine == recorded
