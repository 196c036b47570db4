r"""Solves an OpenSpiel game and records the convergence of the policy.

The commands `solve` and `experiment` of the installed program `mccfr-spiel` have the
same flags.

  python run_experiments.py
  python run_experiments.py --game=kuhn_poker --players=3 --algorithm=cfr_plus
  python run_experiments.py --game="leduc_poker(suit_isomorphism=True)" \
      --sampling=outcome --epsilon=0.4 --minimizer=ftrl --step_size=0.5
  python run_experiments.py --algorithm=hs_dcfr --iterations=1000 --evaluate_last
  python run_experiments.py --algorithm=practical_egt --iterations=2000 --bounds
  python run_experiments.py --algorithm=sparsified_lp --method=interior_point

Prints a table of iterations, nodes touched, seconds of solving, NashConv and
exploitability, and writes to --output_dir:

  results.csv       the same table, written row by row
  convergence.png   NashConv over nodes touched, and its bound (needs matplotlib)
  policy.json       the average policy: the game, and for each player information
                    state -> action -> probability; above 100,000 information states
                    policy.bin instead. mccfr_spiel.load_policy reads both
  evaluation.json   with --evaluate=sampled: values and gains, estimated by play
  solution.json     for linear programs: value of the game, sizes and times
  program.mps       a linear program that was not finished, for another solver
  settings.json     settings of the run and versions of the packages
  solver.checkpoint state for --resume, and the previous checkpoint (.previous)

The papers' experiments are sweeps of many such runs. Each writes a table (summary.csv)
and figures (PNG and SVG) to results/EXPERIMENT or --output_dir. Repeat the command to
resume an interrupted experiment:

  python run_experiments.py --experiment=lanctot2009_table1
  python run_experiments.py --experiment=lanctot2009_figure1 --only=one_card
  python run_experiments.py --experiment=farina2020_figure3 --seeds=10 --workers=8
  python run_experiments.py --experiment=farina2020_figure4 --executor=ray

Ctrl-C (SIGINT) and SIGTERM end the run with a checkpoint and write the results so far;
a second signal ends it at once. Exit codes: 0 success, 1 error, 128 + the number of the
signal (130 Ctrl-C, 143 SIGTERM). After any end of a run, even a kill or a power cut,
the same command with --resume continues from the newest checkpoint. The offline methods
(egt, practical_egt, mirror_prox, lp, sparsified_lp) write no checkpoints. A full disk
or a deleted folder ends the run with one message; the newest checkpoint stays intact.
"""

from absl import app, flags

from mccfr_spiel.command_line import program_flags, script

flags.adopt_module_key_flags(program_flags)

if __name__ == "__main__":
    app.run(script.main)
