"""The starter pair: a small trained eye for birds, its training code and its measures.

At run time onnxruntime and NumPy alone; `python -m training.starter.train` needs the extra `models`.
"""

__all__: list[str] = []
