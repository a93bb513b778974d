/** Decides whether a request belongs to an aggregated server. Pure. */
import type { RequestInfo } from "../../serving/http/request-info.ts";
import type { RemoteApiService } from "./api-service.ts";

export interface KnownApiService {
  readonly apiService: RemoteApiService;
  readonly isAvailable: boolean;
}

export type FindApiService = (group: string, version: string) => KnownApiService | undefined;

type AggregationDecision =
  | { readonly kind: "pass" }
  | { readonly kind: "proxy"; readonly apiService: RemoteApiService }
  | { readonly kind: "unavailable"; readonly apiService: RemoteApiService; readonly message: string };

const PASS: AggregationDecision = { kind: "pass" };
const UNAVAILABLE = "service unavailable";

/**
 * Decides for requests at and below /apis/GROUP/VERSION; all others pass. `wasAggregated` is true if the aggregation
 * layer of a server has already proxied the request.
 */
export function decideAggregation(
  { apiPrefix, group, version }: Pick<RequestInfo, "apiPrefix" | "group" | "version">,
  find: FindApiService,
  wasAggregated: boolean,
): AggregationDecision {
  if (apiPrefix !== "apis" || version === "") return PASS;
  const known = find(group, version);
  if (known === undefined) return PASS;
  const { apiService, isAvailable } = known;
  if (!isAvailable) return { kind: "unavailable", apiService, message: UNAVAILABLE };
  if (wasAggregated) {
    const message = `the service of ${apiService.name} leads back to an API server of this cluster`;
    return { kind: "unavailable", apiService, message };
  }
  return { kind: "proxy", apiService };
}
