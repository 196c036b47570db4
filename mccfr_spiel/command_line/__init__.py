"""The program `mccfr-spiel`.

| module | provides |
|---|---|
| entry, main | the entry point; the commands, their flags and help |
| solve_command, run_course, run_results | `solve` |
| experiment_command, compare_command, info_command | `experiment`, `compare`, `info` |
| play_command, explore_command | `play`, `explore` |
| script | run_experiments.py |
| program_flags, terminal | shared flags; output, signals and exit codes |
"""
