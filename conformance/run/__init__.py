"""Run cases against a target: timing, judging during the run, link faults, certify, replay."""
