/**
 * Groups the keys that a walk of the store finds: objects by resource and stored version, unreadable values, and keys
 * that are not objects. The size of the result is limited, whatever the store holds.
 */
import type { StoragePlace } from "../../objects/catalog/storage-places.ts";
import { createLocator } from "./resource-of-key.ts";
import { storedApiVersion } from "./stored-api-version.ts";
import { walkStore, type Walked, type WalkOptions } from "./walk-store.ts";

export interface ObjectName {
  /** Absent for a cluster-scoped object. */
  readonly namespace?: string;
  readonly name: string;
}

export interface FoundObject extends ObjectName {
  readonly place: StoragePlace;
  /** Undefined if the value cannot be read. */
  readonly apiVersion: string | undefined;
}

interface UnknownKeys {
  /** The part below the storage root, such as "example.com/widgets". */
  readonly prefix: string;
  readonly keys: number;
}

export interface Survey extends Walked {
  /** Number of records that servers wrote for themselves. */
  readonly privateKeys: number;
  /** Counts by prefix. Prefixes beyond the limit are counted together under OTHERS. */
  readonly unknown: readonly UnknownKeys[];
}

const OTHERS = "(others)";
const PREFIXES_MAX = 100;
const VERSIONS_MAX = 16;

export async function surveyStore(options: WalkOptions, visit: (found: FoundObject) => void): Promise<Survey> {
  const locate = createLocator(options.storageRoot);
  const unknown = new Map<string, number>();
  let privateKeys = 0;
  const walked = await walkStore(options, ({ key, value, sealing }) => {
    const location = locate(key);
    if (location.kind === "private") {
      privateKeys++;
    } else if (location.kind === "unknown") {
      const prefix = boundedKey(unknown, location.prefix, PREFIXES_MAX);
      unknown.set(prefix, (unknown.get(prefix) ?? 0) + 1);
    } else {
      const { place, namespace, name } = location;
      // A value in clear may have a problem, too: the encryption configuration may not permit it.
      const apiVersion = sealing?.problem === undefined ? storedApiVersion(value) : undefined;
      visit({ place, name, ...(namespace === "" ? {} : { namespace }), apiVersion });
    }
  });
  const prefixes = [...unknown].map(([prefix, keys]) => ({ prefix, keys }));
  return { ...walked, privateKeys, unknown: prefixes.toSorted((a, b) => compareText(a.prefix, b.prefix)) };
}

/** Holds one value for each resource and API version in which it is stored. */
export class ByVersion<Value> {
  readonly #make: (place: StoragePlace, apiVersion: string) => Value;
  readonly #values = new Map<StoragePlace, Map<string, Value>>();

  constructor(make: (place: StoragePlace, apiVersion: string) => Value) {
    this.#make = make;
  }

  of(place: StoragePlace, apiVersion: string): Value {
    let versions = this.#values.get(place);
    if (versions === undefined) this.#values.set(place, (versions = new Map<string, Value>()));
    const key = boundedKey(versions, apiVersion, VERSIONS_MAX);
    let value = versions.get(key);
    if (value === undefined) versions.set(key, (value = this.#make(place, key)));
    return value;
  }

  all(): Value[] {
    return [...this.#values.values()].flatMap((versions) => [...versions.values()]);
  }
}

/** The key, or that of all other keys if there are already `keysMax` known ones. */
export function boundedKey(known: ReadonlyMap<string, unknown>, key: string, keysMax: number): string {
  return known.has(key) || known.size < keysMax ? key : OTHERS;
}

export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
