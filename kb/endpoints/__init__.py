"""Chat models and image generators behind OpenAI-compatible servers.

`Connection.reply` (in `chat`) is the whole way of a request: cache, cost limit, server, reply, another try or another
form. `body` and `answer` are the protocol, `form` what a server takes of it, `retry` when to try again, `failures` the
errors of servers. `drawing` does the same for images.
"""
