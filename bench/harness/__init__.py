"""Measures `hermes` and the original side by side; `bench/run.py` is the entry point."""
