"""Build of made-up birds that prints its digest or error as JSON: `build_pages.py DIR N_SPECIES`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import kb
from data.errors import FieldmarkError
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

TERMS = [("Amplexus", None)]

if __name__ == "__main__":
    folder, n_species = sys.argv[1], int(sys.argv[2])
    try:
        kb.build(folder, made_up_taxa(n_species), PageSource(), toy_encoders(), terms=TERMS)
        answer = {"digest": kb.verify(folder).digest}
    except FieldmarkError as error:
        answer = {"error": type(error).__name__, "message": f"{error}; {error.hint}", "code": str(error.exit_code)}
    sys.stdout.write(json.dumps(answer) + "\n")
