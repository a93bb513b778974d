/** Sends requests to peers on behalf of this server itself, and reads the whole (small) response within a deadline. */
import type { User } from "../../access/auth/user.ts";
import type { Clock } from "../../base/clock.ts";
import { sendOwnRequest, type OwnRequest, type WholeResponse } from "../../serving/http/own-request.ts";
import type { Upstream, UpstreamAddress } from "../../serving/http/upstream.ts";
import { ownHeaders } from "./hop.ts";

/** The identity with which kube-apiserver calls its peers. */
const SELF: User = { name: "system:apiserver", uid: "system:apiserver", groups: ["system:authenticated"], extra: {} };

interface PeerQuestion extends Pick<OwnRequest, "target" | "timeoutMs" | "bytesMax"> {
  readonly address: UpstreamAddress;
  readonly headers?: readonly string[];
  readonly signal: AbortSignal;
}

export type RequestPeer = (question: PeerQuestion) => Promise<WholeResponse>;

export function createRequestPeer(options: { readonly upstream: Upstream; readonly clock: Clock }): RequestPeer {
  const { upstream, clock } = options;
  const own = ownHeaders(SELF);
  return ({ address, headers = [], ...question }) =>
    sendOwnRequest({ ...question, method: "GET", headers: [...own, ...headers] }, clock, (message) =>
      upstream.send({ ...message, address }),
    );
}
