"""Field-guide plates drawn by code: birds put together from smooth shapes, coloured part by part."""
