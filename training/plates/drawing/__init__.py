"""Parts, shapes and colours of a bird, and the painting of them on a sheet."""
