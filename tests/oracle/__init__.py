"""Slow exact reference implementations that share no code with the engine."""
