"""Ranking: computes signals and features of the candidate files of a search, and weighs them."""
