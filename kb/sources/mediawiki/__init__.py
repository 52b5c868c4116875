"""MediaWiki as a source: HTTP client, matching of pages and taxa, parsing of pages, photos."""
