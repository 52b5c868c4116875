"""Starter models: small trained encoders of photos and texts of birds, which ship with Fieldmark.

They need onnxruntime and NumPy alone. `python -m training.starter.train` makes them.
"""
