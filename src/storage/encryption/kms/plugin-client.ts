/** Calls a KMS plugin: gRPC over a Unix socket. */
import { connect as connectSocket } from "node:net";
import type { Clock } from "../../../base/clock.ts";
import { Channel } from "../../grpc/channel.ts";
import { RpcFailure } from "../../grpc/rpc-failure.ts";
import {
  decodeDecrypted,
  decodeEncrypted,
  decodeKmsStatus,
  encodeDecryptCall,
  encodeEncryptCall,
  encodeStatusCall,
  KMS_METHOD,
  type EncryptedDataKey,
  type KmsStatus,
} from "./messages.ts";

/** Each call rejects if the plugin does not respond in time, or responds with an error. */
export interface KmsPlugin {
  status(): Promise<KmsStatus>;
  encrypt(plaintext: Buffer, uid: string): Promise<EncryptedDataKey>;
  decrypt(dataKey: EncryptedDataKey, uid: string): Promise<Buffer>;
  close(): void;
}

export interface KmsPluginAddress {
  /** The path of the Unix socket. On Linux, a path that begins with "@" is a name in the abstract namespace. */
  readonly socket: string;
  readonly timeoutMs: number;
}

/** Called after each call, with its duration and the name of its gRPC status. */
export type ObserveCall = (method: string, seconds: number, status: string) => void;

interface KmsPluginOptions extends KmsPluginAddress {
  readonly clock: Clock;
  readonly onCall: ObserveCall;
}

/** The name of the server in HTTP. Plugins do not read it. */
const AUTHORITY = new URL("http://localhost");

export function openKmsPlugin(options: KmsPluginOptions): KmsPlugin {
  const client = new PluginClient(options);
  return {
    status: async () => decodeKmsStatus(await client.call(KMS_METHOD.status, encodeStatusCall())),
    encrypt: async (plaintext, uid) =>
      decodeEncrypted(await client.call(KMS_METHOD.encrypt, encodeEncryptCall(plaintext, uid))),
    decrypt: async (dataKey, uid) =>
      decodeDecrypted(await client.call(KMS_METHOD.decrypt, encodeDecryptCall(dataKey, uid))),
    close: () => client.close(),
  };
}

class PluginClient {
  readonly #options: KmsPluginOptions;
  #channel: Channel | undefined;
  #isClosed = false;

  constructor(options: KmsPluginOptions) {
    this.#options = options;
  }

  async call(method: string, frame: Buffer): Promise<Buffer> {
    const { clock, onCall } = this.#options;
    const startedAtMs = clock.monotonic();
    const report = (status: string): void => onCall(method, (clock.monotonic() - startedAtMs) / 1000, status);
    try {
      const response = await this.#send(method, frame);
      report("OK");
      return response;
    } catch (thrown) {
      report(statusName(thrown));
      throw thrown;
    }
  }

  /** Every call has the same effect when it is sent twice, and a plugin that was restarted has ended the connection. */
  async #send(method: string, frame: Buffer): Promise<Buffer> {
    const isReused = this.#channel?.isUsable() === true;
    try {
      return await this.#sendOnce(method, frame);
    } catch (thrown) {
      const isLost = thrown instanceof RpcFailure && (thrown.kind === "lost" || thrown.kind === "unsent");
      if (!isReused || !isLost) throw thrown;
      return this.#sendOnce(method, frame);
    }
  }

  async #sendOnce(method: string, frame: Buffer): Promise<Buffer> {
    const channel = this.#usableChannel();
    try {
      return await channel.unary({ method, frame }, this.#options.timeoutMs);
    } catch (thrown) {
      // A plugin that does not respond may never do so on this connection.
      if (thrown instanceof RpcFailure && thrown.kind === "deadline") channel.destroy("the plugin did not respond");
      throw thrown;
    }
  }

  #usableChannel(): Channel {
    if (this.#isClosed) throw new RpcFailure("unsent", "the client of the plugin is closed");
    if (this.#channel?.isUsable() === true) return this.#channel;
    const { socket, clock } = this.#options;
    const path = socket.startsWith("@") ? `\0${socket.slice(1)}` : socket;
    this.#channel = new Channel({
      endpoint: AUTHORITY,
      session: { createConnection: () => connectSocket({ path }) },
      clock,
      onReady: () => {},
      onLost: () => {},
    });
    return this.#channel;
  }

  close(): void {
    this.#isClosed = true;
    this.#channel?.destroy("the client of the plugin was closed");
  }
}

/** As grpc-go names them. */
const STATUS_NAMES: readonly string[] = [
  "OK",
  "Canceled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
];

function statusName(thrown: unknown): string {
  if (!(thrown instanceof RpcFailure)) return "unknown-non-grpc";
  switch (thrown.kind) {
    case "status":
      return STATUS_NAMES[thrown.status ?? -1] ?? "Unknown";
    case "deadline":
      return "DeadlineExceeded";
    case "oversize":
      return "ResourceExhausted";
    case "garbled":
      return "Internal";
    case "unsent":
    case "lost":
      return "Unavailable";
  }
}
