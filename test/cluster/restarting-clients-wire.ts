/**
 * Records every response that reaches this process, whichever library sent the request, and every failed attempt,
 * before any client retries. It uses the diagnostics channels of Node and undici.
 */
import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";

export interface WireCounts {
  /** "200 true": number of responses with this status and readiness header ("-" if absent). */
  readonly answers: Readonly<Record<string, number>>;
  /** Number of failures by error code. */
  readonly failures: Readonly<Record<string, number>>;
  /** The first few responses that must not occur, with their requests. */
  readonly wrong: readonly string[];
}

const READY = "x-kubernetes-ready";
const WRONG_MAX = 20;

/** Counts responses of this process from its construction on, and those that a caller reports. */
export class WireTally implements WireCounts {
  readonly answers: Record<string, number> = {};
  readonly failures: Record<string, number> = {};
  readonly wrong: string[] = [];
  readonly #isWrong: (status: number, ready: string) => boolean;

  constructor(isWrong: (status: number, ready: string) => boolean) {
    this.#isWrong = isWrong;
    subscribe("http.client.response.finish", (message) => {
      const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
      this.responded(`${request.method} ${request.path}`, response.statusCode ?? 0, response.headers[READY]);
    });
    subscribe("undici:request:headers", (message) => {
      const { request, response } = message as UndiciResponse;
      this.responded(`${request.method} ${request.path}`, response.statusCode, headerIn(response.headers));
    });
    for (const channel of ["http.client.request.error", "undici:request:error"])
      subscribe(channel, (message) => this.failed((message as { error: unknown }).error));
  }

  responded(what: string, status: number, ready: string | string[] | undefined): void {
    const said = `${status} ${String(ready ?? "-")}`;
    add(this.answers, said);
    if (this.#isWrong(status, String(ready ?? "-")) && this.wrong.length < WRONG_MAX)
      this.wrong.push(`${what}: ${said}`);
  }

  failed(error: unknown): void {
    add(this.failures, codeOf(error));
  }
}

/** "200 true: 17, 503 true: 3" */
export function counted(counts: Readonly<Record<string, number>>): string {
  const each = Object.entries(counts).map(([what, count]) => `${what}: ${count}`);
  return each.length === 0 ? "none" : each.join(", ");
}

interface UndiciResponse {
  readonly request: { readonly method: string; readonly path: string };
  readonly response: { readonly statusCode: number; readonly headers: UndiciHeaders };
}

/** HTTP/1.1: names and values alternate. */
type UndiciHeaders = readonly Buffer[] | Readonly<Record<string, string | readonly string[] | undefined>>;

function headerIn(headers: UndiciHeaders): string | undefined {
  if (!Array.isArray(headers)) return (headers as Readonly<Record<string, string | undefined>>)[READY];
  const texts = headers.map(String);
  const at = texts.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === READY);
  return at === -1 ? undefined : texts[at + 1];
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  // The code of a DOMException is a number: the client did not read the rest of the response.
  return typeof code === "string" ? code : error instanceof Error ? error.name : String(error);
}

function add(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
