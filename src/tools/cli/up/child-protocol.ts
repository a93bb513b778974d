/** The messages between `evenkeel up` and a server in a child process, other than those of the store. */
import type { ChildProcess } from "node:child_process";
import type { LogLevel } from "../../../server/env-node.ts";
import type { KvChannel } from "../../../storage/kv-ipc/protocol.ts";
import type { Launch } from "./hosted-server.ts";

export type ToChild =
  | { readonly kind: "start"; readonly launch: Launch; readonly logLevel: LogLevel; readonly store: "parent" | "own" }
  | { readonly kind: "stop" }
  | { readonly kind: "unreachable"; readonly authorities: readonly string[] };

export type FromChild =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "failed"; readonly message: string; readonly code: string | undefined }
  | { readonly kind: "ready" };

interface Envelope {
  readonly about: "server" | "store";
  readonly message: unknown;
}

/** One end of the IPC channel: the child process as seen by the parent, or this process as seen by itself. */
export type IpcEnd = Pick<ChildProcess, "send" | "on" | "connected">;

/** Sends a message. If the other process has ended, this is not an error: the sender detects that elsewhere. */
export function sendAbout(
  end: IpcEnd,
  about: Envelope["about"],
  message: unknown,
  whenSent: () => void = () => {},
): void {
  if (end.connected) end.send({ about, message } satisfies Envelope, whenSent);
  else whenSent();
}

export function receiveAbout(end: IpcEnd, about: Envelope["about"], take: (message: unknown) => void): void {
  end.on("message", (received: unknown) => {
    const envelope = received as Envelope | null;
    if (envelope?.about === about) take(envelope.message);
  });
}

export function storeChannel(end: IpcEnd): KvChannel {
  return {
    send: (message) => sendAbout(end, "store", message),
    receive({ message, closed }) {
      receiveAbout(end, "store", message);
      end.on("disconnect", closed);
    },
  };
}
