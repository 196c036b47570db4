"""From a pyspiel.Game to a tree of arrays: loading, expansion, growth, the cache."""
