"""The ledger: one SQLite file with the results of all stages and all vectors, from which the rest can be rebuilt.

A subject is a species or a term. The result of a stage is valid only for the input whose fingerprint it carries. Every
row has a checksum, compared on each read and by `kb verify`. Damage is therefore an error with a remedy, never a wrong
answer.
"""

from kb.store.ledger.file import fingerprint
from kb.store.ledger.ledger import Entry, Ledger, Step, StepStatus, ledger_so_far

__all__ = ["Entry", "Ledger", "Step", "StepStatus", "fingerprint", "ledger_so_far"]
