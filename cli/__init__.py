"""The command `kb`: parse, wire, call one library function, print. Nothing else imports this package."""

import fieldmark

fieldmark.check_packages()
