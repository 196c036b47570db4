"""First-order methods in threads: bits of one thread, and no place written twice."""

import numpy as np
import pytest

import mccfr_spiel as ms
from mccfr_spiel import GameTree
from mccfr_spiel.compiled.atomics import new_desk
from mccfr_spiel.compiled.jit import IS_COMPILED
from mccfr_spiel.experiments import Settings, runs
from mccfr_spiel.kernels.threaded_passes import PLAYER_NOW, STAGE
from mccfr_spiel.offline import (
    MIRROR_PROX,
    OFFLINE_METHODS,
    PRACTICAL_EGT,
    ExcessiveGap,
    MirrorProx,
    shared_steps,
)
from mccfr_spiel.offline.shared_steps import (
    ADD,
    COPY,
    EVALUATE,
    FIRST,
    FOLLOW,
    GRADIENT,
    LOG,
    MIDDLE,
    MIX,
    NUM_STEP_NOTES,
    PLAN,
    RESPOND,
    RESULT,
    SECOND,
    do_piece,
)
from mccfr_spiel.tree import blocks

ONLY_COMPILED = pytest.mark.skipif(not IS_COMPILED, reason="takes long without the JIT")
GAMES = [
    "kuhn_poker",
    "matrix_rps",
    "goofspiel(num_cards=3,imp_info=True,points_order=random)",
    pytest.param("liars_dice(dice_sides=3)", marks=ONLY_COMPILED),
    pytest.param("leduc_poker", marks=ONLY_COMPILED),
]
METHODS = {
    "egt": ExcessiveGap,
    "practical_egt": lambda *a, **k: ExcessiveGap(*a, aggressive=True, **k),
    "mirror_prox": MirrorProx,
}


@pytest.fixture(autouse=True)
def cut_small_trees(monkeypatch):
    """Lets trees of every size be cut, into blocks and ranges of a few sequences."""
    monkeypatch.setattr(blocks, "BLOCK_WORK", (40, 400))
    monkeypatch.setattr(blocks, "NUM_BLOCKS", 12)
    monkeypatch.setattr("mccfr_spiel.offline.first_order.LEAST_WORK", 1)
    monkeypatch.setattr(shared_steps, "LEAST_PIECE", 8)


def bits(solver) -> list[object]:
    """What a method has found, and where it is."""
    vectors = solver.average_vector(), solver.current_vector()
    return [
        *(vector.tobytes() for vector in vectors),
        solver.gap_bound,
        solver.gradient_evaluations,
        solver.num_iterations,
    ]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("name", METHODS)
def test_any_number_of_threads_has_the_bits_of_one(name, game):
    tree = GameTree(game).expand_all()
    solvers = [METHODS[name](tree, threads=count) for count in (1, 2, 3, 7)]
    assert [solver.num_threads for solver in solvers] == [1, 2, 3, 7]
    for more in (1, 1, 20 if IS_COMPILED else 3):
        for solver in solvers:
            solver.iterate(more)
        alone, *others = map(bits, solvers)
        assert all(other == alone for other in others)
    start = METHODS[name](tree).current_vector()
    # Rock, paper, scissors has its equilibrium at the start.
    assert (solvers[3].current_vector() != start).any() or game == "matrix_rps"
    if name != "mirror_prox":
        assert len({solver.excess() for solver in solvers}) == 1


STEPS = {
    # step: the rows of its arguments and of its result, and what else is written
    EVALUATE: (PLAN, 0, GRADIENT),
    RESPOND: (GRADIENT, PLAN, LOG),
    FOLLOW: (LOG, 0, MIDDLE),
    MIX: (PLAN, GRADIENT, MIDDLE),
    ADD: (PLAN, 0, MIDDLE),
    COPY: (PLAN, 0, MIDDLE),
}


@pytest.mark.parametrize("game", [*GAMES[:1], *GAMES[2:]])
@pytest.mark.parametrize("step", STEPS)
def test_no_two_pieces_write_one_place_and_all_places_are_written(step, game):
    """Each piece is done alone, and what it has changed is compared."""
    solver = MirrorProx(game, threads=2)
    first, second, result = STEPS[step]
    generator = np.random.default_rng(2)
    for player, own in enumerate(solver.steps.own):
        cut = solver.steps.blocks[player]
        in_blocks = step in (RESPOND, FOLLOW)
        num_pieces = len(cut.ends if in_blocks else own.ranges) - 1
        assert num_pieces > 1
        desk = new_desk(NUM_STEP_NOTES)
        desk[[STAGE, PLAYER_NOW, FIRST, SECOND, RESULT]] = (
            *(step, player),
            *(first, second, result),
        )
        own.number[0] = 0.5
        written = np.zeros(own.vectors.shape, np.int64)
        for piece in range(num_pieces):
            for each in solver.steps.own:
                each.vectors[:] = generator.random(each.vectors.shape) + 1
            before = own.vectors.copy()
            do_piece(solver.steps.frames(), desk, piece)
            written += own.vectors != before
        assert written.max() == 1
        rows = {result, GRADIENT} if step == RESPOND else {result}
        assert {*np.flatnonzero(written.any(axis=1))} == rows
        top = cut.top[cut.top >= 0]
        side = solver.steps.sides[player]
        of_top = np.zeros(own.vectors.shape[1], bool)
        if in_blocks:
            of_top[0] = True
            for infoset in top:
                start = side.first_sequence[infoset]
                of_top[start : start + side.num_actions[infoset]] = True
        assert (written[result] == ~of_top).all()


def test_pieces_may_be_done_in_any_order():
    tree = GameTree("goofspiel(num_cards=3,imp_info=True,points_order=random)")
    tree.expand_all()
    alone, shared = (ExcessiveGap(tree, threads=k) for k in (1, 3))
    generator = np.random.default_rng(3)
    for cut in shared.steps.blocks:
        order = generator.permutation(len(cut.ends) - 1)
        parts = [cut.members[cut.ends[b] : cut.ends[b + 1]] for b in order]
        cut.members[:] = np.concatenate(parts)
        cut.ends[1:] = np.cumsum([len(part) for part in parts])
    for solver in (alone, shared):
        solver.iterate(5)
    assert bits(alone) == bits(shared)


def test_trees_that_gain_nothing_have_one_thread(monkeypatch):
    monkeypatch.undo()
    for game in ("kuhn_poker", "leduc_poker"):
        assert ExcessiveGap(game, threads=None).num_threads == 1


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
def test_a_wrong_number_of_threads_is_refused_by_name(threads):
    for name in METHODS:
        with pytest.raises(ValueError, match="threads"):
            METHODS[name]("kuhn_poker", threads=threads)


def test_runs_hand_their_threads_to_the_method():
    for method in (MIRROR_PROX, PRACTICAL_EGT):
        found = []
        for threads in (1, 3):
            settings = Settings("kuhn_poker", method, iterations=5, threads=threads)
            solver = runs.make_solver(settings)
            assert isinstance(solver, ExcessiveGap | MirrorProx)
            assert solver.num_threads == threads
            rows = list(runs.rows(solver, settings))
            found.append([row | {"seconds": 0} for row in rows])
        assert found[0] == found[1]
    lp = OFFLINE_METHODS["lp"].start(ms.GameTree("kuhn_poker"), 3)
    assert lp.num_iterations == 0
