// Replaces node:http in the built command. An import of node:http evaluates all its exports, also lazy ones such as
// fetch and WebSocket with a whole HTTP client. That adds 30 ms to each start, and the command uses none of them.
export const { Agent, createServer, request, ServerResponse } = process.getBuiltinModule("node:http");
