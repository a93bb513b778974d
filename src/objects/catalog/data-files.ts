/**
 * Reads the data files of the catalog. Only this module knows their paths: the files are in `./data`, relative to this
 * module or, in a build, to the bundle.
 *
 * `decoded` is the one module-level memo allowed here: its values are derived from files that ship with the code, are
 * never changed once decoded, and are shared by all servers of the process.
 */
import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";

import type { StoredProtobuf } from "./protobuf-tables.ts";
import type { StoredGateNames, StoredResources, StoredSchemas, StoredTables } from "./stored-format.ts";

const decoded = new Map<string, unknown>();

export function decodedOnce<Value>(key: string, decode: () => Value): Value {
  if (!decoded.has(key)) decoded.set(key, decode());
  return decoded.get(key) as Value;
}

export function storedResources(): StoredResources {
  return decodedOnce("resources", () =>
    deepFreeze(JSON.parse(readData("resources.json").toString()) as StoredResources),
  );
}

export function storedGateNames(): StoredGateNames {
  return decodedOnce("feature gates", () =>
    deepFreeze(JSON.parse(readData("feature-gates.json").toString()) as StoredGateNames),
  );
}

export function storedTables(): StoredTables {
  return decodedOnce("tables", () => deepFreeze(JSON.parse(readData("tables.json").toString()) as StoredTables));
}

/** Not frozen, because freezing it costs more than decoding it. Callers return only frozen copies. */
export function storedSchemas(): StoredSchemas {
  return decodedOnce(
    "schemas",
    () => JSON.parse(brotliDecompressSync(readData("schemas.json.br")).toString()) as StoredSchemas,
  );
}

/** Not frozen, for the same reason as the schemas. */
export function storedProtobuf(): StoredProtobuf {
  return decodedOnce(
    "protobuf",
    () => JSON.parse(brotliDecompressSync(readData("protobuf.json.br")).toString()) as StoredProtobuf,
  );
}

export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

function readData(file: string): Buffer {
  return readFileSync(new URL(`./data/${file}`, import.meta.url));
}
