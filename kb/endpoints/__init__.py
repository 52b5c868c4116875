"""Chat models behind OpenAI-compatible servers, with a reply cache, retries and a cost limit.

Wrappers stack from the inside out: `OpenAIChat` sends one request, `BudgetedChat` keeps it within the cost limit,
`RetryingChat` tries again, `GrowingChat` asks again for replies that were cut off, `CachedChat` answers from the cache,
joins equal requests and stores replies. `Connection` is the whole stack over one `Endpoint`;
`drawing` is the same for an images API.
"""
