"""Chat models and image generators behind OpenAI-compatible servers.

`Connection.reply` (in `chat`) is the whole way of a request: cache, cost limit, server, reply, another try or another
form; `images` does the same for drawings, and `client` is what they share. `form` is the request, `answer` the reply,
`failures` the errors of servers.
"""
