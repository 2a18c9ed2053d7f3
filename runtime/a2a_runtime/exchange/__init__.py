"""Between HTTP and the service: what a request says, who may say it, which dialect answers, and how an answer, a stream or an error looks.

exchange ── one for each surface: what the generated routes enter
  │
jsonrpc, paths, cards ── the three kinds of path: how each reads a request
  │
counter ── what they do alike: let in, ask the service, send, refuse
  │
dialect   which dialect answers: a pure table        question  what a request says beside its body
forms     the two forms of 0.3 over HTTP+JSON        body      reading it, and no more of it than is taken
faults    all that is wrong with a request           stream    one stream: frames, silence, and clients that leave
failure   from an exception to an error              reply     one whole answer
rendering from an error to bytes                     verbs     which HTTP methods a path has
"""
