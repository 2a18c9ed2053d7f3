// Runs beside ajv: reads one JSON line with a schema and documents, answers which of them are valid, or why the schema is refused.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.argv[2]}/`);
const Ajv = require("ajv/dist/2020").default;
const formats = require("ajv-formats").default;

for await (const line of createInterface({ input: process.stdin })) {
  const { schema, documents } = JSON.parse(line);
  let reply;
  try {
    const ajv = new Ajv({ strict: false, validateSchema: false, logger: false });
    formats(ajv, ["date", "ipv4"]);
    const validate = ajv.compile(schema);
    reply = { valid: documents.map((each) => validate(each)) };
  } catch (error) {
    reply = { refused: String(error) };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
