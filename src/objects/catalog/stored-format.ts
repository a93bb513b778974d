/**
 * The format of the files in data/, which scripts/compile-catalog.ts writes. A value that depends on the release is a
 * list of change points (release.ts).
 */
import type { ChangePoints, ReleaseName } from "./release.ts";

/** The names of kube-apiserver's feature gates by the releases that have them. scripts/compile-feature-gates.ts writes it. */
export type StoredGateNames = readonly (readonly [first: ReleaseName, last: ReleaseName, names: readonly string[]])[];

/** Whether a release serves the version by default. */
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
  /** Absent if the resource has all eight verbs. */
  readonly verbs?: readonly string[];
  readonly lifecycle?: ChangePoints<StoredLifecycle>;
  /** If absent, or without a value at a release: metadata.name and metadata.namespace, with the default error. */
  readonly fieldSelectors?: ChangePoints<StoredFieldSelectors>;
  readonly fieldSelectorAliases?: Readonly<Record<string, string>>;
}

export interface StoredSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** Version "*" is the version of the request. */
  readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly gate?: string;
  /** Change points keyed by version; absent if every version and release that has the resource has the subresource. */
  readonly present?: Readonly<Record<string, ChangePoints<true>>>;
}

export interface ResourceHistory {
  readonly group: string;
  readonly resource: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** The key prefix; absent if it is the name of the resource. */
  readonly prefix?: string;
  /** The storage version; absent if the resource is never stored. */
  readonly storage?: ChangePoints<string>;
  /** The version that a binary of the release always writes, whichever release it emulates; see emulation.ts. */
  readonly storageOverride?: ChangePoints<string>;
  /** Group versions, most preferred first. */
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
  /**
   * Keyed by group version: the first and last release in whose scheme it is registered although they can neither serve
   * nor decode it.
   */
  readonly registered: Readonly<Record<string, readonly [ReleaseName, ReleaseName]>>;
  readonly groups: readonly StoredGroup[];
  readonly resources: readonly ResourceHistory[];
}

/**
 * Name, type, format and priority of a column. If the cell shows a plain field or the age of one, the path of the field
 * follows.
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

/**
 * The schema of a field, list item or map value. Equal schemas are stored once and referenced by their position in
 * StoredSchemas.fields.
 */
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
  readonly unions?: readonly StoredUnion[];
  readonly scalar?: StoredField;
}

/** Fields of a struct of which at most one may be set. OpenAPI publishes it with these names. */
export interface StoredUnion {
  readonly discriminator?: string;
  /** Keyed by field: the value of the discriminator that selects it. */
  readonly "fields-to-discriminateBy": Readonly<Record<string, string>>;
}

export interface StoredSchemas {
  /**
   * Pairs of a short and a full prefix of model names. To restore a name, its first matching short prefix is replaced.
   */
  readonly prefixes: readonly (readonly [string, string])[];
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly fields: readonly StoredField[];
  /** For each position in `types`: the type in each release. */
  readonly variants: readonly ChangePoints<StoredType>[];
  /**
   * Keyed by group version: the positions in `types` of its kinds. The name of a kind is the last part of the type's
   * name.
   */
  readonly kinds: Readonly<Record<string, readonly number[]>>;
  /**
   * Positions in `types` of the kinds that are registered in every group version of `sharedIn`, which holds the first
   * and last release of each group version.
   */
  readonly sharedKinds: Readonly<Record<string, number>>;
  readonly sharedIn: Readonly<Record<string, readonly [ReleaseName, ReleaseName]>>;
}
