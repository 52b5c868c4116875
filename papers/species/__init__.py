"""Tables of VR-RAG: retrieval by encoder, and readers."""
