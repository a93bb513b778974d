/** Connects the back-off from contested objects with the two ways in which a server calls itself. */
import type { InProcessRequest, InProcessResponse } from "../../client/in-process.ts";
import { readBody, type ClientResponse, type Transport } from "../../client/transport.ts";
import { isJsonObject, objectAt, type JsonObject } from "../../meta/json.ts";
import type { ContestedWrites, ReadContested } from "./contested-writes.ts";
import { objectWrite } from "./object-write.ts";

/** Maximum size of an object, with room for its metadata. */
const OBJECT_BYTES_MAX = 16 * 1024 * 1024;

/** A transport whose writes throw a WriteBackOff while they must wait. */
export function contestedTransport(transport: Transport, writes: ContestedWrites): Transport {
  const read: ReadContested = async (target) => {
    const headers = { accept: "application/json" };
    return parsed((await buffered(await transport.send({ method: "GET", target, headers }))).bytes);
  };
  return {
    async send(request) {
      const { method, target, body } = request;
      const write = method === "GET" ? undefined : objectWrite({ method, target, body: parsed(body) });
      if (write === undefined) return transport.send(request);
      await writes.permit(write, read);
      const { response, bytes } = await buffered(await transport.send(request));
      if (isSuccess(response.status)) writes.succeeded(write, { metadata: metadataOf(parsed(bytes)) });
      return response;
    },
  };
}

type Call = (request: InProcessRequest) => Promise<InProcessResponse>;

/** As `contestedTransport`, for calls without a client. */
export function contestedCall(call: Call, writes: ContestedWrites): Call {
  const read: ReadContested = async (target) => {
    const response = await call({ method: "GET", target });
    return isSuccess(response.status) ? response.json<JsonObject>() : undefined;
  };
  return async (request) => {
    const { method, target, body } = request;
    const write = objectWrite({ method, target, body });
    if (write === undefined) return call(request);
    await writes.permit(write, read);
    const response = await call(request);
    if (!isSuccess(response.status)) return response;
    const text = await response.text();
    writes.succeeded(write, { metadata: metadataOf(parsed(Buffer.from(text))) });
    return {
      status: response.status,
      headers: response.headers,
      text: () => Promise.resolve(text),
      json: <T>() => Promise.resolve(JSON.parse(text) as T),
      async *frames() {
        yield text;
      },
    };
  };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

async function buffered(
  response: ClientResponse,
): Promise<{ readonly response: ClientResponse; readonly bytes: Uint8Array | undefined }> {
  const bytes = await readBody(response.body, OBJECT_BYTES_MAX);
  const body = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    yield bytes;
  };
  return { response: { ...response, body: body() }, bytes: isSuccess(response.status) ? bytes : undefined };
}

function parsed(bytes: Uint8Array | undefined): JsonObject | undefined {
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function metadataOf(object: JsonObject | undefined): JsonObject {
  return objectAt(object ?? {}, "metadata");
}
