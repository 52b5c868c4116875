"""Making of the shipped knowledge: claims from texts, facts from claims, sentences from facts, and vectors."""
