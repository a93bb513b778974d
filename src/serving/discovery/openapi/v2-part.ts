/** Extracts some paths of an OpenAPI v2 document and the definitions and parameters that they reference. Pure. */
import { isJsonObject, objectAt, type JsonObject } from "../../../meta/json.ts";
import type { V2Document } from "./decode-peer-response.ts";

const DEFINITION = "#/definitions/";
const PARAMETER = "#/parameters/";

export function withPathsWhere(document: V2Document, isKept: (path: string) => boolean): V2Document {
  const paths = membersWhere(document.paths, isKept);
  const { definitions } = document;
  const parameters = objectAt(document, "parameters");
  const wanted = new Set<string>();
  const unread: unknown[] = [paths];
  // Iterative, because definitions can reference each other in cycles.
  for (let next = unread.pop(); next !== undefined; next = unread.pop()) {
    for (const reference of referencesIn(next)) {
      const target = targetOf(reference, definitions, parameters);
      if (target === undefined || wanted.has(reference)) continue;
      wanted.add(reference);
      unread.push(target);
    }
  }
  return {
    ...document,
    paths,
    definitions: membersWhere(definitions, (name) => wanted.has(`${DEFINITION}${name}`)),
    parameters: membersWhere(parameters, (name) => wanted.has(`${PARAMETER}${name}`)),
  };
}

function targetOf(reference: string, definitions: JsonObject, parameters: JsonObject): unknown {
  for (const [prefix, members] of [
    [DEFINITION, definitions],
    [PARAMETER, parameters],
  ] as const) {
    const name = reference.slice(prefix.length);
    if (reference.startsWith(prefix) && Object.hasOwn(members, name)) return members[name];
  }
  return undefined;
}

function membersWhere<Member>(
  members: { readonly [key: string]: Member },
  isKept: (key: string) => boolean,
): { readonly [key: string]: Member } {
  return Object.fromEntries(Object.entries(members).filter(([key]) => isKept(key)));
}

function* referencesIn(root: unknown): Generator<string, void, undefined> {
  const unread: unknown[] = [root];
  while (unread.length > 0) {
    const value = unread.pop();
    if (Array.isArray(value)) for (const item of value as unknown[]) unread.push(item);
    if (!isJsonObject(value)) continue;
    for (const [key, member] of Object.entries(value)) {
      if (key === "$ref" && typeof member === "string") yield unescaped(member);
      else unread.push(member);
    }
  }
}

/** Unescapes a JSON pointer. */
function unescaped(reference: string): string {
  return reference.replaceAll("~1", "/").replaceAll("~0", "~");
}
