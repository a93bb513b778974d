/** Polls /readyz until it returns 200, often enough to measure the duration of a start. */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { openHttp1, type Requester } from "./client/http1.ts";

const POLL_MS = 2;
const GIVE_UP_MS = 60_000;

export async function untilReady(port: number, child: { readonly hasEnded: boolean }): Promise<void> {
  const deadline = performance.now() + GIVE_UP_MS;
  let requester: Requester | undefined;
  try {
    while (performance.now() < deadline) {
      if (child.hasEnded) throw new Error("the server exited before it was ready");
      if (requester === undefined && (await accepts(port))) requester = await openHttp1({ port }, "");
      if (requester !== undefined && (await isReady(requester))) return;
      await sleep(POLL_MS);
    }
  } finally {
    requester?.close();
  }
  throw new Error(`the server was not ready within ${GIVE_UP_MS} ms`);
}

async function isReady(requester: Requester): Promise<boolean> {
  const { status } = await requester.send({ method: "GET", path: "/readyz", expectStatus: 200 }, 0);
  return status === 200;
}

/**
 * Whether the port accepts TCP connections. Checked before the request, because a refused connection costs next to
 * nothing, unlike a failed TLS handshake.
 */
async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
