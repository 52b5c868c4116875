"""Pages of the web and local documents as a source of articles."""
