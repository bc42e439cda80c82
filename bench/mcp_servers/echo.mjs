// The echo server of the official TypeScript SDK.
//   node echo.mjs NODE_MODULES          on a pipe
//   node echo.mjs NODE_MODULES http     at a free port, whose address it prints
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(process.argv[2] + "/"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer, createMcpHandler } = await load("@modelcontextprotocol/server");
const { serveStdio } = await load("@modelcontextprotocol/server/stdio");
const { z } = await load("zod");

function echo() {
  const server = new McpServer({ name: "echo", version: "1.0.0" });
  server.registerTool(
    "echo",
    { description: "Gives back the message", inputSchema: z.object({ message: z.string() }) },
    async ({ message }) => ({ content: [{ type: "text", text: message }] }),
  );
  return server;
}

if (process.argv[3] === "http") {
  const { toNodeHandler } = await load("@modelcontextprotocol/node");
  const http = createServer(toNodeHandler(createMcpHandler(echo)));
  http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
} else {
  serveStdio(echo);
}
