"""From an agent's ``a2a.toml`` and the JSON Schemas of its skills to a typed package.

settings ──► library ──► catalogue ──► shapes ──► models ─┐
 a2a.toml     schema      every type     what of   dmcg    ├──► files of the package
              files,      that is        a schema          │
              references  reached,       Python    bundles ┤    one schema per form, without references to outside
                          its name       can say           │
                                                  modules ─┘    service, agent, client, table of skills

Schemas are the user's: any draft from 7 on, any style. A model says as much of a schema as types can say and accepts everything that the schema
accepts; the rest is the matter of the validator at the boundary. So a keyword that Python has no word for is no problem of the build.
"""
