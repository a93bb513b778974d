/** A KMS plugin for tests: gRPC over a Unix socket, for Evenkeel and for a real kube-apiserver. */
import { once } from "node:events";
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { KMS_METHOD } from "../../../../src/storage/encryption/kms/messages.ts";
import { encodeFrame, FRAME_HEADER_BYTES } from "../../../../src/storage/grpc/frames.ts";
import { GrpcReader, type GrpcWriter } from "../../../../src/storage/grpc/wire.ts";
import type { KeyService } from "./key-service.ts";

const INTERNAL = "13";

export interface KmsPluginServer extends AsyncDisposable {
  readonly sessions: ReadonlySet<ServerHttp2Session>;
}

/** A socket that begins with "@" is a name in Linux' abstract namespace. */
export async function startKmsPlugin(socket: string, service: KeyService): Promise<KmsPluginServer> {
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {});
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      const message = Buffer.concat(chunks).subarray(FRAME_HEADER_BYTES);
      respond(stream, () => responseTo(headers[":path"] ?? "", message, service));
    });
  });
  server.listen(socket.startsWith("@") ? `\0${socket.slice(1)}` : socket);
  await once(server, "listening");
  return {
    sessions,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function respond(stream: ServerHttp2Stream, response: () => Buffer): void {
  const headers = { ":status": 200, "content-type": "application/grpc" };
  try {
    const frame = response();
    stream.respond(headers, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(frame);
  } catch (thrown) {
    const message = encodeURIComponent(thrown instanceof Error ? thrown.message : String(thrown));
    stream.respond({ ...headers, "grpc-status": INTERNAL, "grpc-message": message }, { endStream: true });
  }
}

function responseTo(path: string, message: Buffer, service: KeyService): Buffer {
  if (path === KMS_METHOD.status) {
    const { version, healthz, keyId } = service.status();
    return framed((writer) => {
      writer.string(1, version);
      writer.string(2, healthz);
      writer.string(3, keyId);
    });
  }
  const request = fieldsOf(message);
  if (path === KMS_METHOD.encrypt) {
    const { ciphertext, keyId, annotations } = service.encrypt(request.payload);
    return framed((writer) => {
      writer.bytes(1, ciphertext);
      writer.string(2, keyId);
      for (const [name, value] of annotations) writeAnnotation(writer, name, value);
    });
  }
  const { payload: ciphertext, keyId, annotations } = request;
  return framed((writer) => writer.bytes(1, service.decrypt({ ciphertext, keyId, annotations })));
}

function framed(write: (writer: GrpcWriter) => void): Buffer {
  return encodeFrame(0, write);
}

function writeAnnotation(writer: GrpcWriter, name: string, value: Buffer): void {
  writer.message(3, (entry) => {
    entry.string(1, name);
    entry.bytes(2, value);
  });
}

interface RequestFields {
  payload: Buffer;
  keyId: string;
  readonly annotations: Map<string, Buffer>;
}

/** The fields of an EncryptRequest or a DecryptRequest. */
function fieldsOf(message: Buffer): RequestFields {
  const fields: RequestFields = { payload: Buffer.alloc(0), keyId: "", annotations: new Map() };
  const reader = new GrpcReader(message);
  while (reader.next()) {
    if (reader.field === 1) fields.payload = reader.bytes();
    else if (reader.field === 3) fields.keyId = reader.string();
    else if (reader.field === 4) readAnnotation(reader.message(), fields.annotations);
    else reader.skip();
  }
  return fields;
}

function readAnnotation(entry: GrpcReader, annotations: Map<string, Buffer>): void {
  let [name, value] = ["", Buffer.alloc(0)];
  while (entry.next()) {
    if (entry.field === 1) name = entry.string();
    else value = Buffer.from(entry.bytes());
  }
  annotations.set(name, value);
}
