"""Rules of judging and counting in plain Python: key figures, verdicts, commitments, exports."""
