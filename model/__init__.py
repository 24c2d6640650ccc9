"""The payout protocol as Promela models, and what runs them: `python -m model`. docs/model.md explains them.

Imports nothing of the product; needs spin and gcc.
"""
