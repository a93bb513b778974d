/** Counts the stored objects of each resource by encoding and API version, and keeps the names of the first ones. */
import type { StoragePlace } from "../../../../objects/catalog/storage-places.ts";
import { createLocator } from "../../../../cluster/inspect/resource-of-key.ts";
import { formatGroupResource } from "../../../../meta/group-version.ts";
import { SUBJECTS_MAX } from "../../finding.ts";
import { OTHERS } from "../inspection.ts";
import { OTHERS_ID } from "../scan/byte-strings.ts";

/** More than the CRDs of any cluster. */
const RESOURCES_MAX = 5_000;
const VERSIONS_MAX = 16;
/** For all lists of names together. */
const NAMES_MAX = 20_000;
const NAME_LENGTH_MAX = 300;
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

export interface VersionStat {
  /** An ID of `ByteStrings`. */
  readonly apiVersion: number;
  objects: number;
  /** The first objects, such as "shop/orphan". */
  readonly names: string[];
}

export interface ResourceStat {
  readonly id: number;
  readonly group: string;
  readonly resource: string;
  /** Undefined for a resource that no release has, such as a custom resource. */
  readonly place: StoragePlace | undefined;
  objects: number;
  bytes: number;
  json: number;
  protobuf: number;
  encrypted: number;
  /** Encrypted values that were not decrypted. */
  sealed: number;
  unreadable: number;
  readonly versions: Map<number, VersionStat>;
}

export interface LocatedKey {
  readonly stat: ResourceStat;
  /** "" for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
}

export class ResourceStats {
  readonly #locate: ReturnType<typeof createLocator>;
  readonly #prefix: string;
  readonly #byPlace = new Map<StoragePlace, ResourceStat>();
  readonly #byPrefix = new Map<string, ResourceStat>();
  readonly #all: ResourceStat[] = [];
  #others: ResourceStat | undefined;
  #names = 0;

  /** `prefix`: that of all keys of the API server, such as "/registry/". */
  constructor(prefix: string) {
    this.#prefix = prefix;
    this.#locate = createLocator(prefix);
  }

  get all(): readonly ResourceStat[] {
    return this.#all;
  }

  /** The resource of a key; undefined for a record of the servers themselves. */
  locate(key: string): LocatedKey | undefined {
    const location = this.#locate(key);
    if (location.kind === "private") return undefined;
    if (location.kind === "object") {
      const { place, namespace, name } = location;
      return { stat: this.#byPlace.get(place) ?? this.#addPlace(place), namespace, name };
    }
    const stat = this.#byPrefix.get(location.prefix) ?? this.#addPrefix(location.prefix);
    const rest = key.slice(this.#prefix.length + location.prefix.length + 1);
    const slash = rest.indexOf("/");
    return { stat, namespace: rest.slice(0, Math.max(slash, 0)), name: rest.slice(slash + 1) };
  }

  /** Counts one object that is stored in this version. */
  countVersion({ stat, namespace, name }: LocatedKey, apiVersion: number): void {
    const version = versionOf(stat, apiVersion);
    version.objects++;
    if (version.names.length >= SUBJECTS_MAX || this.#names >= NAMES_MAX) return;
    version.names.push(objectName(namespace, name));
    this.#names++;
  }

  #addPlace(place: StoragePlace): ResourceStat {
    const stat = this.#add({ group: place.group, resource: place.resource }, place);
    this.#byPlace.set(place, stat);
    return stat;
  }

  #addPrefix(prefix: string): ResourceStat {
    if (this.#all.length >= RESOURCES_MAX) return (this.#others ??= this.#add({ group: "", resource: OTHERS }));
    const slash = prefix.indexOf("/");
    const stat = this.#add({ group: prefix.slice(0, Math.max(slash, 0)), resource: prefix.slice(slash + 1) });
    this.#byPrefix.set(prefix, stat);
    return stat;
  }

  #add({ group, resource }: Pick<ResourceStat, "group" | "resource">, place?: StoragePlace): ResourceStat {
    const stat: ResourceStat = {
      id: this.#all.length,
      group,
      resource,
      place,
      objects: 0,
      bytes: 0,
      json: 0,
      protobuf: 0,
      encrypted: 0,
      sealed: 0,
      unreadable: 0,
      versions: new Map(),
    };
    this.#all.push(stat);
    return stat;
  }
}

function versionOf({ versions }: ResourceStat, apiVersion: number): VersionStat {
  const id = versions.has(apiVersion) || versions.size < VERSIONS_MAX ? apiVersion : OTHERS_ID;
  let version = versions.get(id);
  if (version === undefined) versions.set(id, (version = { apiVersion: id, objects: 0, names: [] }));
  return version;
}

/** The name of an object for people, such as "shop/orphan". Names in the data may have any length. */
export function objectName(namespace: string, name: string): string {
  return bounded(namespace === "" ? name : `${namespace}/${name}`);
}

/** For example "configmaps shop/orphan". */
export function subjectName({ stat, namespace, name }: LocatedKey): string {
  return `${bounded(formatGroupResource(stat))} ${objectName(namespace, name)}`;
}

/** A text from the data for people: short, and without control characters. */
export function bounded(text: string): string {
  const short = text.length <= NAME_LENGTH_MAX ? text : `${text.slice(0, NAME_LENGTH_MAX)}…`;
  return short.replaceAll(CONTROL, "?");
}
