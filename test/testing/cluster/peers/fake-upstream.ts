/** A fake of the HTTP client that calls peers: it records the requests, and a test specifies the responses. */
import type { User, WithUser } from "../../../../src/access/auth/user.ts";
import { infoRequest, type RequestOptions } from "../../serving/http/requests.ts";
import type {
  Upstream,
  UpstreamAddress,
  UpstreamRequest,
  UpstreamResponse,
} from "../../../../src/serving/http/upstream.ts";

export type Respond = (request: UpstreamRequest) => UpstreamResponse | Promise<UpstreamResponse>;

export class FakeUpstream implements Upstream {
  readonly requests: UpstreamRequest[] = [];
  readonly retired: UpstreamAddress[] = [];
  readonly disconnected: UpstreamAddress[] = [];
  respond: Respond;
  onDisconnect: () => void = () => {};

  constructor(respond: Respond) {
    this.respond = respond;
  }

  /** Ports to which requests were sent, in order. */
  get ports(): number[] {
    return this.requests.map(({ address }) => address.port);
  }

  async send(request: UpstreamRequest): Promise<UpstreamResponse> {
    this.requests.push(request);
    return this.respond(request);
  }

  retire(address: UpstreamAddress): void {
    this.retired.push(address);
  }

  disconnect(address: UpstreamAddress): void {
    this.disconnected.push(address);
    this.onDisconnect();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export const JANE: User = { name: "jane", uid: "", groups: ["people"], extra: {} };

export function userRequest(options: RequestOptions = {}, more: Partial<WithUser> = {}): WithUser {
  return { ...infoRequest(options), user: JANE, isVerifiedPeer: false, isProxied: false, ...more };
}
