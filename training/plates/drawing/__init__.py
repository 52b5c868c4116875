"""Parts, shapes and colours of a bird, and the code that paints them on a sheet."""
