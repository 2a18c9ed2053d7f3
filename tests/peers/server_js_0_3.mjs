// Runs beside @a2a-js/sdk 0.3: an agent made with it, over JSON-RPC at /rpc, over HTTP+JSON below /rest, and over gRPC.
//
//     node server_js_0_3.mjs FOLDER
//
// What the agent does, the first word of a message says; README.md has the list.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { load, loadExpress, serve, serveGrpc } from "./js_steps.mjs";

const folder = process.argv[2];
const express = loadExpress(folder);
const { A2AError, DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } = await load(folder, "/server");
const { agentCardHandler, jsonRpcHandler, restHandler } = await load(folder, "/server/express");
const { A2AService, grpcService } = await load(folder, "/server/grpc");

const said = (contextId, taskId, text) => ({ kind: "message", messageId: randomUUID(), contextId, taskId, role: "agent", parts: [{ kind: "text", text }] });

class Peer {
  canceled = new Set();

  async execute({ userMessage, taskId, contextId, task }, bus) {
    const text = userMessage.parts[0].text ?? "";
    const [word, rest] = text.includes(" ") ? [text.split(" ", 1)[0], text.slice(text.indexOf(" ") + 1)] : [text, ""];
    if (word === "message") {
      bus.publish(said(contextId, undefined, rest));
      return bus.finished();
    }
    if (word === "refuse") throw A2AError.invalidParams(rest);
    const status = (state, message) => ({ state, timestamp: new Date().toISOString(), ...(message === undefined ? {} : { message: said(contextId, taskId, message) }) });
    const update = (state, message, final = true) => bus.publish({ kind: "status-update", taskId, contextId, status: status(state, message), final });
    const artifact = (artifactId, parts, append, lastChunk) =>
      bus.publish({ kind: "artifact-update", taskId, contextId, artifact: { artifactId, name: artifactId, parts }, append, lastChunk });
    if (!task) bus.publish({ kind: "task", id: taskId, contextId, status: status("submitted"), history: [userMessage] });
    update("working", undefined, false);
    if (word === "ask") {
      update("input-required", rest);
      return bus.finished();
    }
    for (let waited = 0; word === "wait" && waited < 600 && !this.canceled.has(taskId); waited++) await sleep(100);
    if (this.canceled.has(taskId)) return;
    if (word === "fail") update("failed", rest);
    else {
      if (word === "count") {
        for (let number = 0; number < Number(rest); number++) {
          artifact("count", [{ kind: "text", text: `${number} ` }], number > 0, number + 1 === Number(rest));
          await sleep(2);
        }
      } else artifact("echo", userMessage.parts, false, true);
      update("completed");
    }
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    this.canceled.add(taskId);
    bus.publish({ kind: "status-update", taskId, contextId: "", status: { state: "canceled", timestamp: new Date().toISOString() }, final: true });
    bus.finished();
  }
}

await serve(express, async (url, app) => {
  const card = {
    name: "Peer",
    description: "Made with the official SDK.",
    version: "1",
    protocolVersion: "0.3.0",
    url: `${url}/rpc`,
    preferredTransport: "JSONRPC",
    additionalInterfaces: [
      { url: `${url}/rpc`, transport: "JSONRPC" },
      { url: `${url}/rest`, transport: "HTTP+JSON" },
    ],
    capabilities: { streaming: true, pushNotifications: true },
    supportsAuthenticatedExtendedCard: true,
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "echo", name: "Echo", description: "Says it again.", tags: ["test"] }],
  };
  const extended = { ...card, description: "For those who are known." };
  const requestHandler = new DefaultRequestHandler(
    card, new InMemoryTaskStore(), new Peer(), undefined, new InMemoryPushNotificationStore(), undefined, extended,
  );
  const options = { requestHandler, userBuilder: async () => ({ isAuthenticated: true, userName: "ada" }) };
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  card.additionalInterfaces.push({ url: await serveGrpc(folder, [A2AService, grpcService(options)]), transport: "GRPC" });
  app.use("/rpc", jsonRpcHandler(options));
  app.use("/rest", restHandler(options));
});
