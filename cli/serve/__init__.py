"""The page and the HTTP API of `kb serve`: thin over the calls of the library that the verbs make."""
