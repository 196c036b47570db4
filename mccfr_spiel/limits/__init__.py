"""The bytes that a solver may take, and forecasts of how many it will need."""
