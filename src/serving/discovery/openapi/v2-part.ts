/** Extracts some paths of an OpenAPI v2 document and the definitions that they reference. Pure. */
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import type { V2Document } from "./decode-peer-response.ts";

const REFERENCE = "#/definitions/";

export function withPathsWhere(document: V2Document, isKept: (path: string) => boolean): V2Document {
  const paths = membersWhere(document.paths, isKept);
  const wanted = new Set<string>();
  const unread: unknown[] = [paths];
  // Iterative, because definitions can reference each other in cycles.
  for (let next = unread.pop(); next !== undefined; next = unread.pop()) {
    for (const name of referencesIn(next)) {
      if (wanted.has(name) || !Object.hasOwn(document.definitions, name)) continue;
      wanted.add(name);
      unread.push(document.definitions[name]);
    }
  }
  return { ...document, paths, definitions: membersWhere(document.definitions, (name) => wanted.has(name)) };
}

function membersWhere(
  members: { readonly [key: string]: JsonObject },
  isKept: (key: string) => boolean,
): { readonly [key: string]: JsonObject } {
  return Object.fromEntries(Object.entries(members).filter(([key]) => isKept(key)));
}

function* referencesIn(root: unknown): Generator<string, void, undefined> {
  const unread: unknown[] = [root];
  while (unread.length > 0) {
    const value = unread.pop();
    if (Array.isArray(value)) for (const item of value as unknown[]) unread.push(item);
    if (!isJsonObject(value)) continue;
    for (const [key, member] of Object.entries(value)) {
      if (key !== "$ref") unread.push(member);
      else if (typeof member === "string" && member.startsWith(REFERENCE)) yield unescaped(member);
    }
  }
}

/** Unescapes a JSON pointer. */
function unescaped(reference: string): string {
  return reference.slice(REFERENCE.length).replaceAll("~1", "/").replaceAll("~0", "~");
}
