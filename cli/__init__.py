"""The command `kb`: parse, wire, call one library function, print. Nothing else imports this package."""
