/** Measures the live heap of another Node process through the inspector, which a Node process opens on SIGUSR1. */
import { once } from "node:events";
import { waitUntil } from "./wait-until.ts";

/** Runs `start`. Processes that it starts open their inspector at this port of 127.0.0.1 when they receive SIGUSR1. */
export async function withInspectorPort<Value>(port: number, start: () => Promise<Value>): Promise<Value> {
  const before = process.env["NODE_OPTIONS"];
  process.env["NODE_OPTIONS"] = `${before ?? ""} --inspect-port=127.0.0.1:${port} --inspect-publish-uid=http`.trim();
  try {
    return await start();
  } finally {
    if (before === undefined) delete process.env["NODE_OPTIONS"];
    else process.env["NODE_OPTIONS"] = before;
  }
}

/** Size of the live heap in bytes, after a forced garbage collection; includes buffers outside of the heap. */
export async function liveHeapBytes(pid: number, port: number): Promise<number> {
  process.kill(pid, "SIGUSR1");
  let url = "";
  await waitUntil("a process has opened its inspector", async () => {
    url = await debuggerUrl(port);
    return url !== "";
  });
  const socket = new WebSocket(url);
  try {
    await once(socket, "open");
    await ask(socket, { id: 1, method: "HeapProfiler.enable" });
    await ask(socket, { id: 2, method: "HeapProfiler.collectGarbage" });
    const expression = "(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())";
    const response = await ask(socket, { id: 3, method: "Runtime.evaluate", params: { expression } });
    const { result } = response as { result: { result: { value: number } } };
    return result.result.value;
  } finally {
    socket.close();
  }
}

async function debuggerUrl(port: number): Promise<string> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await response.json()) as { webSocketDebuggerUrl: string }[];
    return target?.webSocketDebuggerUrl ?? "";
  } catch {
    return "";
  }
}

interface Question {
  readonly id: number;
  readonly method: string;
  readonly params?: object;
}

/** Sends an inspector command and waits for its response; ignores events that arrive before it. */
async function ask(socket: WebSocket, question: Question): Promise<unknown> {
  socket.send(JSON.stringify(question));
  for (;;) {
    const [{ data }] = (await once(socket, "message")) as [{ readonly data: string }];
    const response = JSON.parse(data) as { id?: number; error?: { message: string } };
    if (response.id !== question.id) continue;
    if (response.error !== undefined) throw new Error(`${question.method}: ${response.error.message}`);
    return response;
  }
}
