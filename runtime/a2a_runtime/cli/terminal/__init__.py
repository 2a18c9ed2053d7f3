"""Commands that talk to agents: ``a2a-gen call``, ``stream``, ``tasks`` and ``card show``, on top
of the client.

options ──► target: a client for the URL, its credentials, dialect and binding
                │
words, files ──► content: parts of the message        questions: answers from options or the prompt
                │                                           │
                └──────────────► conversation ◄─────────────┘   (``client.typed.conversation``)
                                      │
                                      └──► report: results on stdout, everything else on stderr;
                                           text: what a terminal may get

Exit codes (``command``): 0 the task is completed, 1 usage or configuration, 2 the call or its task
failed.
"""
