"""Markov random fields of few terms: their search, weights and samples."""
