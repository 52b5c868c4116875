"""Answers to questions from the pictures that a search found, and their judgement, as in Visual-RAG and VisRet."""
