"""A MediaWiki as a source: the client, which page stands for which taxon, and what a page says and shows."""
