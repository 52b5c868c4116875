"""`kb rerank`."""
