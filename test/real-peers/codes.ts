/** Sends requests at a steady rate while servers stop and start, and counts the responses. */
import type { SmokeResponse } from "../smoke/client.ts";

export interface Sent {
  /** The number of the request, from 0. */
  readonly number: number;
  readonly atMs: number;
  /** The status, or "no response". */
  readonly code: string;
  readonly hasRetryAfter: boolean;
}

export interface Load {
  /** Ends the load; resolves with all requests when they have responses. */
  stop(): Promise<readonly Sent[]>;
}

const INTERVAL_MS = 25;

export function startLoad(send: (number: number) => Promise<SmokeResponse>): Load {
  const startedAt = performance.now();
  const sent: Promise<Sent>[] = [];
  const one = async (number: number): Promise<Sent> => {
    const atMs = Math.round(performance.now() - startedAt);
    const response = await send(number).catch(() => undefined);
    const hasRetryAfter = response?.headers["retry-after"] !== undefined;
    return { number, atMs, code: response === undefined ? "no response" : String(response.status), hasRetryAfter };
  };
  const timer = setInterval(() => void sent.push(one(sent.length)), INTERVAL_MS);
  return {
    stop() {
      clearInterval(timer);
      return Promise.all(sent);
    },
  };
}

/** How often each code occurred, and when: "201: 312, 503: 4 (1200 to 1310 ms)". */
export function inWords(sent: readonly Sent[], expected: string): string {
  return [...Map.groupBy(sent, ({ code }) => code)]
    .map(([code, those]) => {
      const times = code === expected ? "" : ` (${those[0]!.atMs} to ${those.at(-1)!.atMs} ms)`;
      return `${code}: ${those.length}${times}`;
    })
    .join(", ");
}
