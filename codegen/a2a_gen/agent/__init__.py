"""Build a typed package from an agent's ``a2a.toml`` and the JSON Schemas of its skills.

settings ──► schemas ──► catalog ──► types ──► models ─┐
 a2a.toml     schema      every       Python    dmcg    ├──► files of the package
              files,      reachable   type of           │
              references  type and    a schema  bundles ┤    one self-contained schema per payload
                          its name              modules ┘    service, agent, client, skills

Schemas belong to the user: any draft from 7 on, any style. A model says as much of a schema as
Python types can say and accepts every value that the schema accepts; the validator at the boundary
checks the rest. A keyword without a Python equivalent is no problem of the build.
"""
