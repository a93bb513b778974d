/**
 * An OpenAPI 2 document as a sequence of its paths, definitions and shared parameters. The document has megabytes, so it
 * is built, merged and encoded entry by entry, with other work of the server in between.
 */
import { isJsonObject, objectAt, type JsonObject } from "../../../meta/json.ts";
import { compareNames } from "../order.ts";

const SECTIONS = ["paths", "definitions", "parameters"] as const;
type Section = (typeof SECTIONS)[number];

export interface V2Entry {
  readonly section: Section;
  readonly name: string;
  readonly value: JsonObject;
}

export interface V2Source {
  /** The document without its paths, definitions and parameters. */
  readonly head: JsonObject;
  /** In any order. */
  entries(): Iterable<V2Entry>;
}

export function sourceOf(document: JsonObject): V2Source {
  const isHead = (key: string): boolean => !(SECTIONS as readonly string[]).includes(key);
  return {
    head: Object.fromEntries(Object.entries(document).filter(([key]) => isHead(key))),
    *entries() {
      for (const section of SECTIONS)
        for (const [name, value] of Object.entries(objectAt(document, section)))
          if (isJsonObject(value)) yield { section, name, value };
    },
  };
}

/**
 * Merges documents of several servers, or of built-in, custom and aggregated resources. The result has every path, model
 * and parameter of any document, taken from the first document that has it. The name of a shared parameter contains a
 * hash, so parameters of one name are equal.
 */
export function mergeV2Sources(sources: readonly V2Source[]): V2Source {
  return {
    head: sources[0]?.head ?? {},
    *entries() {
      const known: Readonly<Record<Section, Set<string>>> = {
        paths: new Set(),
        definitions: new Set(),
        parameters: new Set(),
      };
      for (const source of sources) {
        for (const entry of source.entries()) {
          const names = known[entry.section];
          if (names.has(entry.name)) continue;
          names.add(entry.name);
          yield entry;
        }
      }
    },
  };
}

/** Collects the encoded entries of a document by section. */
export class EntryTable<Encoded> {
  readonly #entries: Readonly<Record<Section, (readonly [name: string, encoded: Encoded])[]>> = {
    paths: [],
    definitions: [],
    parameters: [],
  };

  add({ section, name }: V2Entry, encoded: Encoded): void {
    this.#entries[section].push([name, encoded]);
  }

  /** The entries of a section, sorted by name. */
  of(section: Section): readonly (readonly [name: string, encoded: Encoded])[] {
    return this.#entries[section].sort(([left], [right]) => compareNames(left, right));
  }
}
