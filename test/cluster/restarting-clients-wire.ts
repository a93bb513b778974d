/**
 * Records every HTTP response and every failed attempt of this process, whichever library sent the request, before the
 * client retries. It uses the diagnostics channels of Node and undici.
 */
import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";

export interface WireCounts {
  /**
   * The number of responses, keyed by status and X-Kubernetes-Ready, for example "200 true" ("-" if the header is
   * absent).
   */
  readonly answers: Readonly<Record<string, number>>;
  /** The number of failed attempts, keyed by error code. */
  readonly failures: Readonly<Record<string, number>>;
  /** The first few responses that must not occur, each with its request. */
  readonly wrong: readonly string[];
}

const READY = "x-kubernetes-ready";
const WRONG_MAX = 20;

/** Counts all responses of this process after the constructor is called, and the responses that a caller reports. */
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

/** The counts as text, for example "200 true: 17, 503 true: 3". */
export function counted(counts: Readonly<Record<string, number>>): string {
  const each = Object.entries(counts).map(([what, count]) => `${what}: ${count}`);
  return each.length === 0 ? "none" : each.join(", ");
}

interface UndiciResponse {
  readonly request: { readonly method: string; readonly path: string };
  readonly response: { readonly statusCode: number; readonly headers: UndiciHeaders };
}

/** An array of alternating names and values with HTTP/1.1, an object with HTTP/2. */
type UndiciHeaders = readonly Buffer[] | Readonly<Record<string, string | readonly string[] | undefined>>;

function headerIn(headers: UndiciHeaders): string | undefined {
  if (!Array.isArray(headers)) return (headers as Readonly<Record<string, string | undefined>>)[READY];
  const texts = headers.map(String);
  const at = texts.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === READY);
  return at === -1 ? undefined : texts[at + 1];
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  // The code of a DOMException is a number, so its name is used instead, for example AbortError.
  return typeof code === "string" ? code : error instanceof Error ? error.name : String(error);
}

function add(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
