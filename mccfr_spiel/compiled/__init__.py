"""What makes numba usable here: cached code, frames of arrays, draws, prefetching."""
