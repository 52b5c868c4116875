"""The stages of a build: resolve, fetch, distil, anchor, encode, index, a module each.

A stage does the work that is missing in the ledger, in groups of subjects: files first, then one transaction for the
group. A kill leaves at most files without a ledger row, and the group is repeated.
"""
