/**
 * The schemas of one release. Types are resolved on first use and then cached; all servers of the process that behave
 * as this release share them. Fields with equal schemas share one object.
 */
import { assert } from "../../base/assert.ts";
import { parseGroupVersion } from "../../meta/group-version.ts";
import type { FieldSchema, FieldType, StructSchema } from "../schema.ts";
import { decodedOnce, deepFreeze, storedSchemas } from "./data-files.ts";
import { isWithin, valueIn, type ReleaseName } from "./release.ts";
import type { StoredField, StoredSchemas, StoredType } from "./stored-format.ts";

export interface SchemaSource {
  /** The schema of a kind, a list kind or an option kind; undefined if the release does not have it. */
  kind(group: string, version: string, kind: string): StructSchema | undefined;
  /** A struct by its OpenAPI model name, such as `io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta`. */
  struct(modelName: string): StructSchema | undefined;
  /** The model names of all structs of the release. */
  structNames(): readonly string[];
  /**
   * The kinds under which a model is registered, sorted by group and version. Kinds that requests and watches of every
   * resource share, such as DeleteOptions, are registered in every group version.
   */
  kindsOf(modelName: string): readonly ModelKind[];
}

export interface ModelKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface NamedFieldSchema extends FieldSchema {
  readonly modelName: string | undefined;
}

/**
 * The OpenAPI model that a field refers to. It distinguishes named scalars that have the same type and format: Time
 * (whole seconds) and MicroTime (six digits) are both strings of format date-time.
 */
export function modelName(field: FieldSchema): string | undefined {
  return (field as NamedFieldSchema).modelName;
}

export function openSchemas(release: ReleaseName): SchemaSource {
  return decodedOnce(`schemas/${release}`, () => new ReleaseSchemas(storedSchemas(), release));
}

class ReleaseSchemas implements SchemaSource {
  readonly #stored: StoredSchemas;
  readonly #release: ReleaseName;
  readonly #structs = new Map<number, StructSchema>();
  readonly #fields = new Map<number, FieldSchema>();
  readonly #kinds: ReadonlyMap<string, number>;
  readonly #positions: ReadonlyMap<string, number>;
  #kindsOfModels: ReadonlyMap<number, readonly ModelKind[]> | undefined;

  constructor(stored: StoredSchemas, release: ReleaseName) {
    this.#stored = stored;
    this.#release = release;
    this.#positions = decodedOnce("schemas/positions", () => typePositions(stored));
    this.#kinds = decodedOnce("schemas/kinds", () => kindPositions(stored));
  }

  kind(group: string, version: string, kind: string): StructSchema | undefined {
    const groupVersion = group === "" ? version : `${group}/${version}`;
    const position = this.#kinds.get(`${groupVersion}/${kind}`) ?? this.#sharedKind(groupVersion, kind);
    return position === undefined ? undefined : this.#struct(position);
  }

  struct(name: string): StructSchema | undefined {
    const position = this.#positions.get(name);
    return position === undefined ? undefined : this.#struct(position);
  }

  structNames(): readonly string[] {
    return [...this.#positions].filter(([, position]) => this.#typeAt(position)?.fields).map(([name]) => name);
  }

  kindsOf(name: string): readonly ModelKind[] {
    const position = this.#positions.get(name);
    if (position === undefined || this.#typeAt(position) === undefined) return [];
    this.#kindsOfModels ??= this.#groupKindsByModel();
    return this.#kindsOfModels.get(position) ?? [];
  }

  #groupKindsByModel(): ReadonlyMap<number, readonly ModelKind[]> {
    const { sharedIn, sharedKinds } = this.#stored;
    const kinds = new Map<number, ModelKind[]>();
    // The shared kinds are in every group version that the release knows, so they tell which ones it knows.
    const isKnown = (groupVersion: string): boolean => {
      const range = Object.hasOwn(sharedIn, groupVersion) ? sharedIn[groupVersion] : undefined;
      return range !== undefined && isWithin(range, this.#release);
    };
    const add = (position: number, groupVersion: string, kind: string): void => {
      if (!isKnown(groupVersion)) return;
      const known = kinds.get(position);
      const added = { ...parseGroupVersion(groupVersion), kind };
      if (known === undefined) kinds.set(position, [added]);
      else known.push(added);
    };
    for (const [key, position] of this.#kinds) {
      const end = key.lastIndexOf("/");
      add(position, key.slice(0, end), key.slice(end + 1));
    }
    for (const groupVersion of Object.keys(sharedIn))
      for (const [kind, position] of Object.entries(sharedKinds)) add(position, groupVersion, kind);
    for (const own of kinds.values()) deepFreeze(own.sort(compareKinds));
    return kinds;
  }

  #sharedKind(groupVersion: string, kind: string): number | undefined {
    const { sharedIn, sharedKinds } = this.#stored;
    const range = Object.hasOwn(sharedIn, groupVersion) ? sharedIn[groupVersion] : undefined;
    if (range === undefined || !Object.hasOwn(sharedKinds, kind)) return undefined;
    return isWithin(range, this.#release) ? sharedKinds[kind] : undefined;
  }

  #typeAt(position: number): StoredType | undefined {
    const points = this.#stored.variants[position];
    return points && valueIn(points, this.#release);
  }

  #struct(position: number): StructSchema | undefined {
    const known = this.#structs.get(position);
    if (known !== undefined) return known;
    const fields = this.#typeAt(position)?.fields;
    if (fields === undefined) return undefined;
    const struct = new LazyStruct({
      name: fullTypeName(this.#stored, position),
      mapType: this.#typeAt(position)?.mapType,
      unions: this.#typeAt(position)?.unions,
      resolveFields: () => this.#resolveFields(fields),
    });
    this.#structs.set(position, struct);
    return struct;
  }

  #resolveFields(pairs: readonly number[]): ReadonlyMap<string, FieldSchema> {
    const fields = new Map<string, FieldSchema>();
    for (let index = 0; index < pairs.length; index += 2) {
      const name = this.#stored.names[pairs[index] ?? -1];
      assert(name !== undefined, "a stored struct refers to a stored field name");
      fields.set(name, this.#field(pairs[index + 1] ?? -1));
    }
    return fields;
  }

  #field(position: number): FieldSchema {
    const known = this.#fields.get(position);
    if (known !== undefined) return known;
    const stored = this.#stored.fields[position];
    assert(stored !== undefined, "a stored struct refers to a stored field");
    const field = this.#toFieldSchema(stored);
    this.#fields.set(position, field);
    return field;
  }

  #toFieldSchema(stored: StoredField): FieldSchema {
    const target = stored.ref === undefined ? undefined : this.#typeAt(stored.ref);
    const struct = stored.ref === undefined ? undefined : this.#struct(stored.ref);
    const scalar = target?.scalar;
    const isEither = (mark: "intOrString" | "quantity" | "embeddedResource" | "preserveUnknown"): boolean =>
      stored[mark] ?? scalar?.[mark] ?? false;
    const field: NamedFieldSchema = {
      type: struct === undefined ? fieldType(scalar ?? stored) : "struct",
      struct,
      items: stored.items === undefined ? undefined : this.#field(stored.items),
      format: stored.format ?? scalar?.format,
      required: stored.required ?? false,
      default: deepFreeze(stored.default),
      enum: deepFreeze(stored.enum),
      listType: stored.listType,
      listMapKeys: deepFreeze(stored.listMapKeys),
      mapType: stored.mapType,
      patchStrategy: deepFreeze(stored.patchStrategy),
      patchMergeKey: stored.patchMergeKey,
      intOrString: isEither("intOrString"),
      quantity: isEither("quantity"),
      embeddedResource: isEither("embeddedResource"),
      preserveUnknown: isEither("preserveUnknown"),
      modelName: stored.ref === undefined ? undefined : fullTypeName(this.#stored, stored.ref),
    };
    return Object.freeze(field);
  }
}

class LazyStruct implements StructSchema {
  readonly name: string;
  readonly mapType: StructSchema["mapType"];
  readonly preserveUnknown = false;
  readonly unions: StructSchema["unions"];
  readonly #resolveFields: () => ReadonlyMap<string, FieldSchema>;
  #fields: ReadonlyMap<string, FieldSchema> | undefined;

  constructor(parts: {
    readonly name: string;
    readonly mapType: StructSchema["mapType"];
    readonly unions: StructSchema["unions"];
    readonly resolveFields: () => ReadonlyMap<string, FieldSchema>;
  }) {
    this.name = parts.name;
    this.mapType = parts.mapType;
    this.unions = deepFreeze(parts.unions);
    this.#resolveFields = parts.resolveFields;
  }

  get fields(): ReadonlyMap<string, FieldSchema> {
    this.#fields ??= this.#resolveFields();
    return this.#fields;
  }
}

function compareKinds(left: ModelKind, right: ModelKind): number {
  return (
    compareNames(left.group, right.group) ||
    compareNames(left.version, right.version) ||
    compareNames(left.kind, right.kind)
  );
}

function compareNames(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Quantities and int-or-strings count as strings; callers check their flags first. */
function fieldType(stored: StoredField): FieldType {
  if (stored.quantity || stored.intOrString) return "string";
  return (stored.type as FieldType | undefined) ?? "any";
}

function typePositions(stored: StoredSchemas): ReadonlyMap<string, number> {
  return new Map(stored.types.map((_, position) => [fullTypeName(stored, position), position]));
}

function kindPositions(stored: StoredSchemas): ReadonlyMap<string, number> {
  const kinds = new Map<string, number>();
  for (const [groupVersion, positions] of Object.entries(stored.kinds)) {
    for (const position of positions) kinds.set(`${groupVersion}/${lastPart(stored.types[position] ?? "")}`, position);
  }
  return kinds;
}

function fullTypeName(stored: StoredSchemas, position: number): string {
  const short = stored.types[position];
  assert(short !== undefined, "a reference in the stored schemas names a stored type");
  const prefix = stored.prefixes.find(([beginning]) => short.startsWith(beginning));
  return prefix === undefined ? short : `${prefix[1]}${short.slice(prefix[0].length)}`;
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
