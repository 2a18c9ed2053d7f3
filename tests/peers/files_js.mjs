// Runs beside @a2a-js/sdk: sends the bytes ff fe 00 in 0.3 over each binding, and prints the text and the file that come back.
//
//     node files_js.mjs FOLDER VERSION URL…                           the version of the SDK: 1.0 or 0.3
import { randomUUID } from "node:crypto";
import { load } from "./js_steps.mjs";

const [, , folder, version, ...urls] = process.argv;
const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = await load(folder, "/client");
const { GrpcTransportFactory } = await load(folder, "/client/transports/grpc");
const FACTORIES = { JSONRPC: JsonRpcTransportFactory, "HTTP+JSON": RestTransportFactory, GRPC: GrpcTransportFactory };

async function sendOld(url, Factory) {
  const client = await new ClientFactory({ transports: [new Factory()] }).createFromUrl(url);
  const parts = [
    { kind: "text", text: "bytes" },
    { kind: "file", file: { bytes: "//4A", name: "f.bin" } },
  ];
  const task = await client.sendMessage({ message: { kind: "message", messageId: randomUUID(), role: "user", parts }, configuration: { blocking: true } });
  const [text, file] = task.artifacts[0].parts;
  return [text.text, file.file.bytes];
}

async function sendNew(url, Factory) {
  const card = await new DefaultAgentCardResolver().resolve(url);
  card.supportedInterfaces = card.supportedInterfaces.filter((each) => each.protocolVersion === "0.3");
  const client = await new ClientFactory({ transports: [new Factory({ legacyCompat: { enabled: true } })] }).createFromAgentCard(card);
  const { Role } = await load(folder);
  const part = (content, filename = "") => ({ content, filename, metadata: undefined, mediaType: "" });
  const parts = [part({ $case: "text", value: "bytes" }), part({ $case: "raw", value: Buffer.from([255, 254, 0]) }, "f.bin")];
  const message = { messageId: randomUUID(), role: Role.ROLE_USER, parts, contextId: "", taskId: "", metadata: undefined, extensions: [], referenceTaskIds: [] };
  const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: false };
  const task = await client.sendMessage({ tenant: "", message, configuration, metadata: undefined });
  const [text, file] = task.artifacts[0].parts;
  return [text.content.value, Buffer.from(file.content.value).toString("base64")];
}

const found = [];
for (const url of urls) {
  const outcomes = {};
  for (const [name, Factory] of Object.entries(FACTORIES)) {
    try {
      outcomes[name] = await (version === "1.0" ? sendNew : sendOld)(url, Factory);
    } catch (error) {
      outcomes[name] = [error.constructor.name, error.message];
    }
  }
  found.push(outcomes);
}
process.stdout.write(JSON.stringify(found), () => process.exit(0));
