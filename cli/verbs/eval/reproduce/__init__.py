"""`kb eval reproduce`: the tables of the papers, run on their data sets."""
