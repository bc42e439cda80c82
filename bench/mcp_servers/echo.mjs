// The echo server of the official TypeScript SDK, on a pipe.
//   node echo.mjs NODE_MODULES
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(process.argv[2] + "/"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer } = await load("@modelcontextprotocol/server");
const { StdioServerTransport } = await load("@modelcontextprotocol/server/stdio");
const { z } = await load("zod");

const server = new McpServer({ name: "echo", version: "1.0.0" });
server.registerTool(
  "echo",
  { description: "Gives back the message", inputSchema: z.object({ message: z.string() }) },
  async ({ message }) => ({ content: [{ type: "text", text: message }] }),
);
await server.connect(new StdioServerTransport());
