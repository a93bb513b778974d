/** Merges the OpenAPI 2 documents of several servers into the document of the cluster. */
import { compareNames } from "../order.ts";
import type { V2Document } from "./decode-peer-response.ts";

/**
 * Merges several documents. The result has every path and definition of any document, taken from the first document
 * that has it, sorted by name as in the document of a single server.
 */
export function mergeV2(documents: readonly V2Document[]): V2Document {
  return {
    ...documents[0],
    paths: union(documents.map(({ paths }) => paths)),
    definitions: union(documents.map(({ definitions }) => definitions)),
  };
}

function union<Value>(parts: readonly { readonly [key: string]: Value }[]): { [key: string]: Value } {
  const members = new Map<string, Value>();
  for (const part of parts)
    for (const [name, value] of Object.entries(part)) if (!members.has(name)) members.set(name, value);
  return Object.fromEntries([...members].sort(([left], [right]) => compareNames(left, right)));
}
