// node:http for the built command. Importing the module evaluates all its exports, including lazy ones: a whole HTTP
// client with fetch and WebSocket, which adds 30 ms to each start and is never used here.
export const { Agent, createServer, request, ServerResponse } = process.getBuiltinModule("node:http");
