"""HTTP client of a MediaWiki: requests, retries, host checks."""
