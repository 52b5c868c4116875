"""VisRet: draw the query, search by the drawings, fuse the rankings."""
