"""General encoders: what the small models that ship can compare of any group of organisms.

Photos are compared by the features of the photo tower, which was trained on everyday pictures, without the metric that
was trained on birds; texts by the colours that they name. Nothing here was trained on species.
"""
