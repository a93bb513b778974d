/**
 * A fake of the HTTP client that calls aggregated API servers: it records the requests, and a test specifies the
 * responses.
 */
import type { User, WithUser } from "../../../../src/access/auth/user.ts";
import type { Outbound, OutboundRequest } from "../../../../src/serving/http/outbound.ts";
import { infoRequest, type RequestOptions } from "../../serving/http/requests.ts";
import { UpstreamError, type UpstreamFailure, type UpstreamResponse } from "../../../../src/serving/http/upstream.ts";
import type { ApiServiceObject, RemoteApiService } from "../../../../src/extensions/aggregation/api-service.ts";

export type Respond = (request: OutboundRequest) => UpstreamResponse | Promise<UpstreamResponse>;

export class FakeOutbound implements Outbound {
  readonly requests: OutboundRequest[] = [];
  answer: Respond;

  constructor(response: Respond) {
    this.answer = response;
  }

  get asked(): string[] {
    return this.requests.map(({ method, target, to }) => `${method} ${to.address.host}:${to.address.port}${target}`);
  }

  async send(request: OutboundRequest): Promise<UpstreamResponse> {
    this.requests.push(request);
    return this.answer(request);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export function failing(failure: UpstreamFailure, isSent = false): Respond {
  return () => Promise.reject(new UpstreamError(failure, "as the test says", { isSent }));
}

export const JANE: User = { name: "jane", uid: "7", groups: ["people", "admins"], extra: { "Scopes/a": ["x", "y"] } };

export function userRequest(options: RequestOptions = {}, more: Partial<WithUser> = {}): WithUser {
  return { ...infoRequest(options), user: JANE, isVerifiedPeer: false, isProxied: false, ...more };
}

export function remote(changes: Partial<RemoteApiService> = {}): RemoteApiService {
  const { group = "metrics.example.com", version = "v1" } = changes;
  return {
    name: `${version}.${group}`,
    group,
    version,
    groupPriorityMinimum: 100,
    versionPriority: 100,
    service: { namespace: "system", name: "metrics", port: 443 },
    caBundle: undefined,
    insecureSkipTlsVerify: true,
    ...changes,
  };
}

/** The same APIService as `remote` returns, as an API object. */
export function remoteObject(changes: Partial<RemoteApiService> = {}, resourceVersion = "1"): ApiServiceObject {
  const { name, group, version, groupPriorityMinimum, versionPriority, service } = remote(changes);
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name, uid: `uid-${name}`, resourceVersion },
    spec: { group, version, groupPriorityMinimum, versionPriority, service, insecureSkipTLSVerify: true },
    status: {},
  };
}
