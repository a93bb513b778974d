/**
 * Selects the form of discovery from the Accept header, and checks by If-None-Match whether the client's cached copy is
 * current.
 */
import { parseAccept, type MediaType } from "../http/negotiate.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";
import { ACCEPT_MEMO_LENGTH_MAX, ACCEPT_MEMO_MAX } from "./discovery-limits.ts";

export interface AggregatedChoice {
  readonly version: "v2" | "v2beta1";
  /** True if the client asks for the resources of this server only. */
  readonly isNoPeer: boolean;
}

/** Returns undefined if the client prefers a legacy form or accepts no form that is available. */
type ChooseAggregated = (accept: string | undefined) => AggregatedChoice | undefined;

/**
 * Caches the parsed headers, because clients send few different ones. v2beta1 is served by the releases that have it.
 * DIFFERS: v2 is served by every release, although 1.28 and 1.29 do not have it, so that all servers of a cluster
 * respond alike.
 */
export function createAggregatedChooser(gates: ReleaseGates): ChooseAggregated {
  const versions = gates.isOn("AggregatedDiscoveryV2beta1") ? ["v2", "v2beta1"] : ["v2"];
  const memo = new Map<string, AggregatedChoice | undefined>();
  return (accept) => {
    if (accept === undefined || accept === "") return undefined;
    if (memo.has(accept)) return memo.get(accept);
    const choice = choose(accept, versions);
    if (memo.size < ACCEPT_MEMO_MAX && accept.length <= ACCEPT_MEMO_LENGTH_MAX) memo.set(accept, choice);
    return choice;
  };
}

/** Returns the choice of the first clause of the header that can be satisfied. */
function choose(accept: string, versions: readonly string[]): AggregatedChoice | undefined {
  for (const clause of parseAccept(accept)) {
    const choice = toChoice(clause, versions);
    if (choice !== undefined) return choice;
    if (
      !clause.parameters.has("as") &&
      ["application/json", "application/yaml", "application/*", "*/*"].includes(clause.type)
    )
      return undefined;
  }
  return undefined;
}

/** Ignores profiles other than nopeer. */
function toChoice({ type, parameters }: MediaType, versions: readonly string[]): AggregatedChoice | undefined {
  const version = parameters.get("v");
  if (version === undefined || !versions.includes(version)) return undefined;
  if (type !== "application/json" || parameters.get("g") !== "apidiscovery.k8s.io") return undefined;
  if (parameters.get("as") !== "APIGroupDiscoveryList") return undefined;
  return { version: version as AggregatedChoice["version"], isNoPeer: parameters.get("profile") === "nopeer" };
}

const ENTITY_TAG = /(?:W\/)?("[^"]*")/g;

/**
 * True if no tag of the If-None-Match header matches. The header has one tag, a list of tags, or `*`; weak tags match
 * too.
 */
export function isNoneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return true;
  if (header === etag || header.trim() === "*") return false;
  for (const [, tag] of header.matchAll(ENTITY_TAG)) if (tag === etag) return false;
  return true;
}
