// Runs beside an official SDK for JavaScript: takes steps with its client one after another, and prints what came of each as one JSON object.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

export const HOOK = "https://hooks.example.org/a2a";
// A part of the SDK as a module of today: in its old form each part has classes of its own, and does not know the errors of the others.
export const load = (folder, part = "") => import(pathToFileURL(`${folder}/node_modules/@a2a-js/sdk/dist${part}/index.js`));
export const loadExpress = (folder) => createRequire(`${folder}/`)("express");
// Serves the SDK's own handlers over gRPC on a free port of this machine, and gives its address.
export async function serveGrpc(folder, ...services) {
  const grpc = createRequire(`${folder}/`)("@grpc/grpc-js");
  const server = new grpc.Server();
  for (const [definition, handlers] of services) server.addService(definition, handlers);
  const bind = (done) => server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), done);
  return new Promise((resolve, reject) => bind((error, port) => (error ? reject(error) : resolve(`127.0.0.1:${port}`))));
}
// A state as 0.3 writes it, whatever the SDK has.
export const state = (name) => String(name).replace("TASK_STATE_", "").replaceAll("_", "-").toLowerCase();
// A fetch with the credentials of the caller.
export const fetchAs = (token) => (url, options = {}) => fetch(url, { ...options, headers: { ...Object.fromEntries(new Headers(options.headers)), authorization: `Bearer ${token}` } });

export async function all(stream) {
  const found = [];
  for await (const event of stream) found.push(event);
  return found;
}

// With which error a call or a stream is refused, or that it is not.
export async function refusal(call) {
  try {
    await call();
  } catch (error) {
    return error.constructor.name;
  }
  return "not refused";
}

export async function take(steps, peer) {
  const outcomes = {};
  for (const [name, step] of Object.entries(steps)) {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error("no outcome in 15 s")), 15_000).unref());
    try {
      outcomes[name] = await Promise.race([step(peer), late]);
    } catch (error) {
      outcomes[name] = { error: `${error.constructor.name}: ${error.message}`.slice(0, 500) };
    }
  }
  process.stdout.write(`${JSON.stringify(outcomes)}\n`, () => process.exit(0));
}

// Serves an app on a free port of this machine, and says which one; bound first, so that a reader of the address can connect at once.
export async function serve(express, fill) {
  const app = express();
  const server = app.listen(0, "127.0.0.1", async () => {
    const url = `http://127.0.0.1:${server.address().port}`;
    await fill(url, app);
    process.stdout.write(`${url}\n`);
  });
}
