"""The command `kb`: parse, wire, call one library function, print. Nothing else imports this package."""

import kb as kb  # first of all: it names the file that hides our package `data`, where one does
