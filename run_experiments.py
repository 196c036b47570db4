r"""Solves an OpenSpiel game and records how the policy converges.

The installed program is `mccfr-spiel`: its commands `solve` and `experiment` take the
same flags.

  python run_experiments.py
  python run_experiments.py --game=kuhn_poker --players=3 --algorithm=cfr_plus
  python run_experiments.py --game="leduc_poker(suit_isomorphism=True)" \
      --sampling=outcome --epsilon=0.4 --minimizer=ftrl --step_size=0.5
  python run_experiments.py --algorithm=hs_dcfr --iterations=1000 --evaluate_last
  python run_experiments.py --algorithm=practical_egt --iterations=2000 --bounds
  python run_experiments.py --algorithm=sparsified_lp --method=interior_point

Prints a table of iterations, nodes touched, seconds of solving, NashConv and
exploitability, and leaves in --output_dir:

  results.csv       the same table, written row by row
  convergence.png   NashConv over nodes touched (needs matplotlib), and its bound
  policy.json       the average policy: the game, and for each player information
                    state -> action -> probability (above 100,000 information states
                    instead policy.bin); mccfr_spiel.load_policy reads it
  evaluation.json   with --evaluate=sampled: values and gains, estimated by play
  solution.json     of a linear program: the value of the game, sizes and times
  program.mps       of a linear program that was not finished: for another solver
  settings.json     what was run, and with which versions
  solver.checkpoint where --resume goes on, and the checkpoint before it (.previous)

The papers' experiments are sweeps of many such runs. Each leaves a table (summary.csv)
and figures (PNG and SVG) in results/EXPERIMENT or --output_dir. When one is run again,
it goes on where it was, whatever ended it:

  python run_experiments.py --experiment=lanctot2009_table1
  python run_experiments.py --experiment=lanctot2009_figure1 --only=one_card
  python run_experiments.py --experiment=farina2020_figure3 --seeds=10 --workers=8
  python run_experiments.py --experiment=farina2020_figure4 --executor=ray

Ctrl-C (SIGINT) and SIGTERM end the run at a checkpoint, with the results so far on
disk; a second signal ends it at once. Exit codes: 0 done, 1 error, 128 + the number of
the signal (130 Ctrl-C, 143 SIGTERM). However a run has ended, even by a kill or a power
cut, the same command with --resume goes on exactly where the newest checkpoint was
made; only the offline methods (egt, practical_egt, mirror_prox, lp, sparsified_lp) make
no checkpoints. A full disk or a deleted folder ends the run with one message; the
newest checkpoint that is still there is good.
"""

from absl import app, flags

from mccfr_spiel.command_line import running

flags.adopt_module_key_flags(running)

if __name__ == "__main__":
    app.run(running.main)
