"""Draws: by the probabilities given, and the same in Python and in compiled code."""

import numpy as np
import pytest

from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.kernels.sampling import (
    draw_action,
    draw_chance,
    draw_explored,
    plain_draw_action,
    plain_draw_chance,
    plain_draw_explored,
)

pytestmark = pytest.mark.both

NEAR_ONE = float(np.nextafter(1.0, 0.0))


@jit
def compiled_draws(probs, cdf, start, count, epsilon, draw):
    return (
        draw_action(probs, start, count, draw),
        draw_explored(probs, start, count, epsilon, draw),
        draw_chance(cdf, start, count, draw),
    )


def plain_draws(probs, cdf, start, count, epsilon, draw):
    probs, cdf = probs.tolist(), memoryview(cdf)
    return (
        plain_draw_action(probs, start, count, draw),
        plain_draw_explored(probs, start, count, epsilon, draw),
        plain_draw_chance(cdf, start, count, draw),
    )


def distributions(generator):
    """Some in one array: where each begins, how long it is, all of them, their sums."""
    parts = []
    for count in (1, 2, 3, 7, 30):
        for zeros in (0.0, 0.5):
            part = generator.random(count) * (generator.random(count) >= zeros)
            part[generator.integers(count)] = 1e-9
            parts.append(part / part.sum())
    starts = np.cumsum([0, *map(len, parts)]).tolist()[:-1]
    sums = [np.cumsum(part) for part in parts]
    for one in sums:
        one[-1] = 1.0
    return starts, list(map(len, parts)), np.concatenate(parts), np.concatenate(sums)


def test_python_draws_what_compiled_code_draws_to_the_last_bit():
    generator = np.random.default_rng(1)
    starts, counts, probs, cdf = distributions(generator)
    for start, count in zip(starts, counts, strict=True):
        edges = [0.0, NEAR_ONE, *cdf[start : start + count - 1].tolist()]
        edges = [draw for draw in edges if draw < 1.0]
        for draw in [*edges, *generator.random(50).tolist()]:
            arguments = probs, cdf, start, count, 0.3, draw
            assert plain_draws(*arguments) == compiled_draws(*arguments)


def test_an_alternative_is_drawn_on_an_interval_of_its_probability():
    generator = np.random.default_rng(2)
    starts, counts, probs, cdf = distributions(generator)
    for start, count in zip(starts, counts, strict=True):
        low = 0.0
        for child in range(count):
            high, prob = float(cdf[start + child]), float(probs[start + child])
            if prob > 1e-12:
                draw = (low + high) / 2
                plain = plain_draws(probs, cdf, start, count, 0.0, draw)
                assert plain == (child, (child, prob), child)
            low = high


@pytest.mark.parametrize("draw", [0.0, 0.5, NEAR_ONE])
def test_what_has_probability_0_is_never_drawn(draw):
    probs = [0.0, 0.4, 0.3, 0.2999999, 0.0]  # the sum is rounded below 1
    chosen = plain_draw_action(probs, 0, 5, draw)
    assert probs[chosen] > 0
    assert plain_draw_explored(probs, 0, 5, 0.0, draw) == (chosen, probs[chosen])
