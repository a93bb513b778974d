/**
import { printable } from "../../base/printable.ts";
 * Requests a report that takes a while to compute: the server streams its progress as lines of JSON, followed by the
 * report.
 */
import { TransportError } from "../../client/transport.ts";
import { printable } from "../../base/printable.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { requestServer } from "./request-server.ts";
import { CommandFailure } from "./failure.ts";
import type { KubeconfigConnection } from "../../client/kubeconfig.ts";

export interface ReportProgress {
  readonly done: number;
  readonly total: number;
}

/** The request fails if the server sends nothing for this long. */
const SILENCE_MS = 60_000;
const LINE_LENGTH_MAX = 64 * 1024 * 1024;

export async function requestReport(
  connection: KubeconfigConnection,
  target: string,
  onProgress: (progress: ReportProgress) => void,
): Promise<JsonObject> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), SILENCE_MS);
  const requestOptions = { target, signal: silence.signal, timeoutMs: SILENCE_MS };
  try {
    return await requestServer(connection, requestOptions, async ({ body }) => {
      for await (const line of lines(body, () => timer.refresh())) {
        const { kind } = line;
        if (kind === "result") return objectAt(line, "report");
        if (kind === "error")
          throw new CommandFailure(
            `${connection.url} could not complete the report: ${printable(stringAt(line, "message"))}`,
            1,
          );
        if (kind === "progress") onProgress({ done: numberOrZero(line, "done"), total: numberOrZero(line, "total") });
      }
      throw new TransportError("reset", "the response ended before the report");
    });
  } finally {
    clearTimeout(timer);
  }
}

async function* lines(body: AsyncIterable<Uint8Array>, onChunk: () => void): AsyncGenerator<JsonObject> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    onChunk();
    const complete = (text + decoder.decode(chunk, { stream: true })).split("\n");
    text = complete.pop() ?? "";
    if (text.length > LINE_LENGTH_MAX) throw new TransportError("malformed", "a line of the response is too long");
    for (const line of complete) yield parsedLine(line);
  }
}

function parsedLine(line: string): JsonObject {
  try {
    const value: unknown = JSON.parse(line);
    if (isJsonObject(value)) return value;
  } catch (thrown) {
    throw new TransportError("malformed", "a line of the response is not JSON", { cause: thrown });
  }
  throw new TransportError("malformed", "a line of the response is not an object");
}

export function numberOrZero(parent: JsonObject, key: string): number {
  const value = parent[key];
  return typeof value === "number" ? value : 0;
}
