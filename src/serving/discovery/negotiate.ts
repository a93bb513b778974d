/** Negotiates the form of discovery that a client asks for, and whether its cached copy is current. */
import { parseAccept, type MediaType } from "../http/negotiate.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";
import { ACCEPT_MEMO_LENGTH_MAX, ACCEPT_MEMO_MAX } from "./discovery-limits.ts";

export interface AggregatedChoice {
  readonly version: "v2" | "v2beta1";
  /** The client asks for the resources of this one server. */
  readonly isNoPeer: boolean;
}

/** Undefined if the client prefers a plain form or accepts no available one. */
type ChooseAggregated = (accept: string | undefined) => AggregatedChoice | undefined;

/**
 * Clients send few different headers, so the parsed ones are cached. v2beta1 is served as by the release. DIFFERS: v2
 * is served by every release, although 1.28 and 1.29 did not have it yet, so that all servers of a cluster respond
 * alike.
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

/** The first clause that can be satisfied decides. */
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

/** Profiles other than nopeer are ignored. */
function toChoice({ type, parameters }: MediaType, versions: readonly string[]): AggregatedChoice | undefined {
  const version = parameters.get("v");
  if (version === undefined || !versions.includes(version)) return undefined;
  if (type !== "application/json" || parameters.get("g") !== "apidiscovery.k8s.io") return undefined;
  if (parameters.get("as") !== "APIGroupDiscoveryList") return undefined;
  return { version: version as AggregatedChoice["version"], isNoPeer: parameters.get("profile") === "nopeer" };
}

const ENTITY_TAG = /(?:W\/)?("[^"]*")/g;

/** If-None-Match: one tag or a list of them, weak ones too, or `*`. */
export function isNoneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return true;
  if (header === etag || header.trim() === "*") return false;
  for (const [, tag] of header.matchAll(ENTITY_TAG)) if (tag === etag) return false;
  return true;
}
