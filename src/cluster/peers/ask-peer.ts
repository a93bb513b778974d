/** What a server asks its peers on its own behalf: small answers, read whole, within a deadline. */
import type { User } from "../../access/auth/user.ts";
import type { Clock } from "../../base/clock.ts";
import { answerHeader } from "../../serving/http/forwarded.ts";
import type { Upstream, UpstreamAddress } from "../../serving/http/upstream.ts";
import { wholeBody } from "../../serving/http/whole-body.ts";
import { ownHeaders } from "./hop.ts";

/** As the reference introduces itself to peers. */
const SELF: User = { name: "system:apiserver", uid: "system:apiserver", groups: ["system:authenticated"], extra: {} };

export interface PeerQuestion {
  readonly address: UpstreamAddress;
  readonly target: string;
  readonly headers?: readonly string[];
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
}

export interface PeerAnswer {
  readonly status: number;
  readonly body: Buffer;
  header(name: string): string | undefined;
}

export type AskPeer = (question: PeerQuestion) => Promise<PeerAnswer>;

export function createAskPeer(options: { readonly upstream: Upstream; readonly clock: Clock }): AskPeer {
  const own = ownHeaders(SELF);
  return async ({ address, target, headers = [], timeoutMs, bytesMax, signal }) => {
    const giveUp = new AbortController();
    const onAbort = (): void => giveUp.abort();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const cancel = options.clock.after(timeoutMs, onAbort);
    try {
      const response = await options.upstream.send({
        address,
        method: "GET",
        target,
        headers: [...own, ...headers],
        body: undefined,
        contentLength: undefined,
        isUpgrade: false,
        signal: giveUp.signal,
      });
      const body = await wholeBody(response.body, bytesMax);
      return { status: response.status, body, header: (name) => answerHeader(response, name) };
    } finally {
      cancel();
      signal.removeEventListener("abort", onAbort);
    }
  };
}
