"""Text-to-text baselines of VisRet: captions of photos, answers about them (VISA), and their scores."""
