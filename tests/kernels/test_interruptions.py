"""Signal handlers wait for the end of a block, and for numba's compiler."""

import signal

import pytest
from numba import types
from numba.core import config
from numba.extending import overload

from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.kernels.jit import uncached

pytestmark = pytest.mark.compiled
needs_jit = pytest.mark.skipif(
    bool(config.DISABLE_JIT),  # pyright: ignore[reportAttributeAccessIssue]
    reason="nothing is compiled",
)


@pytest.fixture
def handlers():
    """Restores the handlers of signals after a test."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
def test_ctrl_c_waits_for_the_end_of_the_block():
    done = []
    with pytest.raises(KeyboardInterrupt), signals_deferred():
        signal.raise_signal(signal.SIGINT)
        done.append("first")
        signal.raise_signal(signal.SIGINT)
        done.append("second")
    assert done == ["first", "second"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("handlers")
def test_nested_block_delivers_no_signals():
    done = False
    with pytest.raises(KeyboardInterrupt), signals_deferred():
        with signals_deferred():
            signal.raise_signal(signal.SIGINT)
        done = True
    assert done


@needs_jit
@pytest.mark.parametrize("door", ["call", "compile", "get_compile_result"])
def test_ctrl_c_waits_for_the_compiler(door):
    def stop_here():
        pass

    @overload(stop_here)
    def _typed_stop_here():
        signal.raise_signal(signal.SIGINT)  # arrives while numba compiles
        return lambda: None

    def double(x):
        stop_here()
        return 2 * x

    function = uncached(double)
    doors = {
        "call": lambda: function(1),
        "compile": lambda: function.compile((types.int64,)),
        "get_compile_result": lambda: function.get_compile_result(
            types.int64(types.int64)
        ),
    }
    with pytest.raises(KeyboardInterrupt):
        doors[door]()
    assert len(function.signatures) == 1
    assert function(4) == 8
    assert len(function.signatures) == 1
