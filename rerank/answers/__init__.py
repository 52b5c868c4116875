"""Question answering from the pictures that a search found, and its judgement, as in Visual-RAG and VisRet."""
