"""What a change of a contract does to those who rely on it.

A schema is a set of JSON values, and two schemas are compared as sets, never as texts:

    tree ──► node ──► shape ──► comparison ──► finding ──► report
    files    what     its       pairs of       a change    verdict, and
    by ref   must     values    nodes, each    with its    any form of
             hold     by kind   looked at once level       output
                                                 ▲
                                     witness ────┘  a document that one side takes and the other refuses

*Tree*: one side of a comparison, from a folder, a commit or a card. *Node*: the places whose schemas a value must satisfy all at once, so that
``$ref``, siblings of ``$ref`` and ``allOf`` are one thing, the conjunction. *Shape*: the alternatives of a node by kind of value (null, boolean,
number, string, array, object); ``anyOf`` and ``oneOf`` are spread over them, so the spellings of null are one thing too, a constant is an
enumeration of one, and vacuous keywords, order and annotations are gone. *Comparison*: a graph of pairs of nodes; a pair yields what differs
right there and the pairs below it, and is looked at once, so recursion ends by itself. Two definitions that say the same are told by a walk over
their texts before anything else.

A *rule* names one kind of change, with a level for whoever is concerned: the schema is **read** by the agent (a request, a skill's input, stored
state), is **written** by it (a response, an event, a card, a skill's output), or is the **source** of generated Python. What is read must not
narrow, what is written must not widen. A finding for a definition that is used both ways takes the worse. A *witness* is looked for whenever
reading or writing suffers, confirmed by a validator, and shown; if there is none, the finding says so.

One thing is softer than sets: a sender writes only members that its schema names. So a member may be added to an open object without harm.
"""
