"""Between HTTP and the service: what a request says, who may say it, which dialect answers, and how an answer, a stream or an error looks.

door ── the short way past the router        mount, framework, browsers ── an app around the surfaces: routes, errors, pages of others
  │
exchange ── one for each surface: what the generated routes enter
  │
jsonrpc, paths, cards, skills ── the kinds of path: how each reads a request
  │
counter ── what they do alike: let in (turnstile, patrol), ask the service, send, refuse
  │
dialect   which dialect answers: a pure table        question  what a request says beside its body
forms     the two forms of 0.3 over HTTP+JSON        body      reading it, and no more of it than is taken
faults    all that is wrong with a request           stream    one stream: frames, silence, expiry, and clients that leave
failure   from an exception to an error              reply     one whole answer
rendering from an error to bytes                     verbs     which HTTP methods a path has
address   where a client reaches a surface           openapi   all of it as a document, with what protects it
"""
