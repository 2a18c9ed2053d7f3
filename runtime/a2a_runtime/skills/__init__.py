"""Typed skills: what stands between the one untyped handler of the engine and a class whose methods have types.

port ─────── a typed method as a handler: its input is read before it runs, its output checked before it leaves
  │
context ──── what a typed method sees of its task; questions with typed replies
  │
contract ─── a skill as its schemas say: input, output, replies       replies ─ follow-ups that answer a question with a schema
  │                                                                   refusals  input that a handler refuses, place by place
  │                                                                   card ──── the schemas as an extension of the card
reading ──── the value that a message carries: a data part, JSON in a text, plain text
  │
form ─────── a schema and the Python type that was generated from it
  │
model ────── the bases of generated models

**The schema is the law, the model gives types.** Every value that comes in or goes out is validated by a JSON Schema validator (5 µs for 5 kB, a
sixth of what making the model costs), and only then made into a model. So nothing that a schema says is lost for want of a way to say it in Python,
and what one agent accepts is what every validator accepts. Formats are checked.

Nothing in here knows HTTP; ``form``, ``model`` and ``contract`` know nothing of the engine either, so that clients load them alone.
"""
