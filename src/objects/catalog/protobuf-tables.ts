/**
 * The protobuf messages of all built-in types, those of all releases together: field numbers are never reused, so the
 * message of an older release is a subset of the newer one, and the schemas determine which kinds and fields a release has. A kind that is newer than the tables has no message.
 */
import type {
  FieldShape,
  FieldTable,
  MessageForm,
  MessageTable,
  ProtobufTables,
  ScalarType,
} from "../protobuf/tables.ts";
import { decodedOnce, storedProtobuf } from "./data-files.ts";

/** The type is a scalar, the full name of a message, or the name of a message in the same package. */
type StoredProtobufField = readonly [number: number, name: string, type: string, shape: FieldShape, omitEmpty: 0 | 1];

export interface StoredProtobufMessage {
  /** Omitted if it is "struct". */
  readonly form?: MessageForm;
  readonly fields: readonly StoredProtobufField[];
}

export interface StoredProtobuf {
  /** The package of the kinds of each apiVersion. */
  readonly packages: Readonly<Record<string, string>>;
  /** Keyed by package, then by message name. */
  readonly messages: Readonly<Record<string, Readonly<Record<string, StoredProtobufMessage>>>>;
}

const META_PACKAGE = "k8s.io.apimachinery.pkg.apis.meta.v1";

/** Kinds that Go registers in every group version. Clients send them under the group version of the resource. */
const KINDS_OF_EVERY_VERSION: ReadonlySet<string> = new Set([
  "CreateOptions",
  "DeleteOptions",
  "GetOptions",
  "ListOptions",
  "PatchOptions",
  "UpdateOptions",
]);

/** A few kinds without a group, such as Status, have the version of the core group. */
const META_VERSIONS: ReadonlySet<string> = new Set(["v1", "meta.k8s.io/v1"]);

const SCALARS: ReadonlySet<string> = new Set<ScalarType>(["string", "bytes", "bool", "int32", "int64", "double"]);

/** Decoded on first use and shared by all servers of the process. */
export function protobufTables(): ProtobufTables {
  return decodedOnce("protobuf/tables", () => new StoredProtobufTables(storedProtobuf()));
}

class StoredProtobufTables implements ProtobufTables {
  readonly #stored: StoredProtobuf;
  readonly #messages = new Map<string, MessageTable>();

  constructor(stored: StoredProtobuf) {
    this.#stored = stored;
  }

  message(name: string): MessageTable | undefined {
    const known = this.#messages.get(name);
    if (known !== undefined) return known;
    const dot = name.lastIndexOf(".");
    const packageName = name.slice(0, Math.max(dot, 0));
    const stored = this.#find(packageName, name.slice(dot + 1));
    if (stored === undefined) return undefined;
    const table = toTable(stored, name, packageName);
    this.#messages.set(name, table);
    return table;
  }

  messageFor(apiVersion: string, kind: string): string | undefined {
    const own = ownMember(this.#stored.packages, apiVersion);
    if (own !== undefined && this.#find(own, kind) !== undefined) return `${own}.${kind}`;
    if (!KINDS_OF_EVERY_VERSION.has(kind) && !META_VERSIONS.has(apiVersion)) return undefined;
    return this.#find(META_PACKAGE, kind) === undefined ? undefined : `${META_PACKAGE}.${kind}`;
  }

  #find(packageName: string, name: string): StoredProtobufMessage | undefined {
    const messages = ownMember(this.#stored.messages, packageName);
    return messages && ownMember(messages, name);
  }
}

/**
 * Looks up only own properties, because names come from clients and plain objects inherit properties such as
 * `constructor`.
 */
function ownMember<Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function toTable(stored: StoredProtobufMessage, name: string, packageName: string): MessageTable {
  const byNumber: (FieldTable | undefined)[] = [];
  const fields = stored.fields.map(([number, jsonName, type, shape, omitEmpty], position) => {
    const isScalar = SCALARS.has(type);
    const field: FieldTable = Object.freeze({
      number,
      position,
      name: jsonName,
      shape,
      omitEmpty: omitEmpty === 1,
      scalar: isScalar ? (type as ScalarType) : undefined,
      message: isScalar ? undefined : type.includes(".") ? type : `${packageName}.${type}`,
    });
    while (byNumber.length <= number) byNumber.push(undefined);
    byNumber[number] = field;
    return field;
  });
  return Object.freeze({
    name,
    form: stored.form ?? "struct",
    fields: Object.freeze(fields),
    byNumber: Object.freeze(byNumber),
  });
}
