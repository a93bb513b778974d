/**
 * The format of the files in data/, which scripts/compile-catalog.ts writes. A value that depends on the release is a
 * list of change points (release.ts).
 */
import type { ChangePoints, ReleaseName } from "./release.ts";

/** Whether a release serves by default what it can serve. */
type DefaultState = "on" | "off";

/** As kubernetes, which has four messages for an unknown label; see CatalogVersion. */
export type FieldSelectorErrorStyle = "default" | "label" | "kind-label" | "quoted-label";

export interface StoredLifecycle {
  readonly introduced?: string;
  readonly deprecated?: string;
  readonly removed?: string;
  readonly replacement?: { readonly group: string; readonly version: string; readonly kind: string };
}

export interface StoredFieldSelectors {
  readonly labels: readonly string[];
  readonly errorStyle: FieldSelectorErrorStyle;
}

export interface StoredVersion {
  readonly kind: string;
  readonly served: ChangePoints<DefaultState>;
  readonly gate?: string;
  /** Absent: all eight. */
  readonly verbs?: readonly string[];
  readonly lifecycle?: ChangePoints<StoredLifecycle>;
  /** Absent, or no value at a release: metadata.name and metadata.namespace with the default error. */
  readonly fieldSelectors?: ChangePoints<StoredFieldSelectors>;
  readonly fieldSelectorAliases?: Readonly<Record<string, string>>;
}

export interface StoredSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** Version "*" is the version of the request. */
  readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly gate?: string;
  /** Absent: present in every version and release that has the resource. */
  readonly present?: Readonly<Record<string, ChangePoints<true>>>;
}

export interface ResourceHistory {
  readonly group: string;
  readonly resource: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Absent: the name of the resource. */
  readonly prefix?: string;
  /** Absent: never stored. */
  readonly storage?: ChangePoints<string>;
  readonly decodable?: ChangePoints<readonly string[]>;
  readonly versions: Readonly<Record<string, StoredVersion>>;
  readonly subresources?: readonly StoredSubresource[];
}

export interface StoredGroup {
  readonly name: string;
  /** All versions that a release can serve, in the order of discovery. */
  readonly versions: ChangePoints<readonly string[]>;
  /** groupPriorityMinimum and versionPriority of the APIService of each version. */
  readonly priorities: Readonly<Record<string, ChangePoints<readonly [number, number]>>>;
}

export interface StoredGateState {
  readonly stage: string;
  readonly on: boolean;
}

export interface StoredResources {
  readonly gates: Readonly<Record<string, ChangePoints<StoredGateState>>>;
  readonly groupOrder: ChangePoints<readonly string[]>;
  /** Group versions that a release has besides those it can serve or decode: first and last release. */
  readonly registered: Readonly<Record<string, readonly [ReleaseName, ReleaseName]>>;
  readonly groups: readonly StoredGroup[];
  readonly resources: readonly ResourceHistory[];
}

/**
 * Name, type, format, priority; then the path of the field in the cell, if the cell is a plain field or the age of one.
 */
export type StoredColumn = readonly [
  name: string,
  type: string,
  format: string,
  priority: number,
  path?: string,
  as?: "age",
];

export interface StoredTables {
  readonly defaultColumns: readonly StoredColumn[];
  /** "group/Kind" of kinds without a table. */
  readonly none: readonly string[];
  readonly kinds: Readonly<Record<string, ChangePoints<readonly StoredColumn[]>>>;
}

/** A field, item or map value. Equal ones are stored once and referenced by position in StoredSchemas.fields. */
export interface StoredField {
  readonly type?: string;
  /** Position in StoredSchemas.types. */
  readonly ref?: number;
  /** Position in StoredSchemas.fields. */
  readonly items?: number;
  readonly format?: string;
  readonly required?: true;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  readonly mapType?: "atomic" | "granular";
  readonly patchStrategy?: readonly string[];
  readonly patchMergeKey?: string;
  readonly intOrString?: true;
  readonly quantity?: true;
  readonly embeddedResource?: true;
  readonly preserveUnknown?: true;
}

/**
 * A struct has `fields`: pairs of positions in StoredSchemas.names and .fields. Any other type is a named scalar or raw
 * JSON.
 */
export interface StoredType {
  readonly fields?: readonly number[];
  readonly mapType?: "atomic" | "granular";
  readonly scalar?: StoredField;
}

export interface StoredSchemas {
  /** Short and full prefixes of model names; the first short one that matches restores a name. */
  readonly prefixes: readonly (readonly [string, string])[];
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly fields: readonly StoredField[];
  /** By position in types: the type from a release on. */
  readonly variants: readonly ChangePoints<StoredType>[];
  /** By group version: the types (positions) that are its kinds, named by the last part of the type's name. */
  readonly kinds: Readonly<Record<string, readonly number[]>>;
  /** Kinds that are registered in many group versions: in which, and from and to which release. */
  readonly sharedKinds: Readonly<Record<string, number>>;
  readonly sharedIn: Readonly<Record<string, readonly [ReleaseName, ReleaseName]>>;
}
