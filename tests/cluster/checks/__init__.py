"""The properties that `checker.py` checks, one file for each family of them. Start with `model.py`."""
