"""The stages of a build: resolve, fetch, distil, anchor, encode, index, a module each.

A stage does what its ledger rows lack. It works in groups of subjects: files first, then one transaction that notes the
group. A kill leaves at most files that nobody names yet, and the group is done again.
"""
