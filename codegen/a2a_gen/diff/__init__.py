"""Breaking-change check: compares two versions of a contract, the base and the revision.

A schema is a set of JSON values, and two schemas are compared as sets, never as texts:

    schema tree ──► schema node ──► value set ──► comparison ──► finding ──► report
    files and       conjunction     alternatives  pairs of       change      verdict, in
    references      of schemas      by kind       nodes, each    with its    any output
                                                  expanded once  level       format
                                                      ▲
                                          witness ────┘  a document that one side accepts
                                                         and the other rejects

*Schema tree*: the files of one side, from a folder, a commit or a card. *Schema node*: the schemas
that a value must satisfy all at once, so ``$ref``, the keywords beside it and ``allOf`` become one
conjunction. *Value set*: the alternatives of a node by kind of value (null, boolean, number,
string, array, object). ``anyOf`` and ``oneOf`` are expanded into them, so every spelling of null is
the same, a constant is an enumeration of one value, and vacuous keywords, order and annotations
have no effect. *Comparison*: a graph of node pairs. A pair yields its own changes and the pairs
below it, and is expanded once, so recursive schemas terminate. Definitions with equal content are
detected first, by a walk over their texts.

A *rule* stands for one kind of change. It has a level for each usage: the schema is **read** by the
agent (requests, skill inputs, stored state), **written** by it (responses, events, cards, skill
outputs), or the **source** of generated Python. Read schemas must not narrow, written schemas must
not widen. A definition with both usages gets the higher level. A *witness* is searched for whenever
reading or writing breaks, and confirmed by a validator; a finding without one says so.

*Containment confirms, rules explain.* Rules give place, direction and cure; whether a schema
contains another one is decided by the containment oracle (``containment.py``). A change of which it
proves that it has no effect is dropped; a definition that it disproves and that no rule explains is
an error of its own; what neither decides is a warning.

One exception to sets: a sender writes only members that its schema names. So adding a member to an
open object is not a break.
"""
