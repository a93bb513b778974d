// node:http for the built command. To import it reads everything it exports, and some of that is made only when it is
// read: a whole HTTP client with fetch and WebSocket, which costs each start 30 ms and is never used here.
export const { Agent, createServer, request, ServerResponse } = process.getBuiltinModule("node:http");
