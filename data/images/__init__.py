"""Pictures: safe decoding, and the JPEGs that models are sent."""
