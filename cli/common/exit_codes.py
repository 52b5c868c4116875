"""Exit codes that verbs set themselves; errors have their own in `data.errors`."""

FINDINGS = 1
MISSING = 3
PARTLY = 7
DEFECT = 70  # EX_SOFTWARE of sysexits.h: a bug in Fieldmark
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
BROKEN_PIPE = 141  # 128 + SIGPIPE, as shells report `... | head`
