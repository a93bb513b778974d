/**
 * Script for maintainers: compiles a directory of facts about Kubernetes releases into src/objects/catalog/data/.
 *      node scripts/compile-catalog.ts FACTS_DIR
 *  The output depends only on the facts, so compiling them twice changes nothing. Users never run this. The types of
 *  the facts are declared here, because no other code may depend on them; this makes the file long.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync } from "node:zlib";

import { ALL_VERBS } from "../src/objects/catalog/catalog.ts";
import type { StoredProtobuf, StoredProtobufMessage } from "../src/objects/catalog/protobuf-tables.ts";
import { RELEASES, type ChangePoints, type ReleaseName } from "../src/objects/catalog/release.ts";
import type {
  FieldSelectorErrorStyle,
  StoredColumn,
  StoredField,
  StoredFieldSelectors,
  StoredGateState,
  StoredGroup,
  StoredLifecycle,
  ResourceHistory,
  StoredResources,
  StoredSchemas,
  StoredSubresource,
  StoredTables,
  StoredType,
  StoredUnion,
  StoredVersion,
} from "../src/objects/catalog/stored-format.ts";
import type { FieldShape, MessageForm } from "../src/objects/protobuf/tables.ts";

type ByRelease<Value> = Partial<Record<ReleaseName, Value>>;
type Range = { since: string; until: string | null };

interface FactVersion extends Range {
  defaultOn: ByRelease<boolean>;
  gate?: string;
  verbs: string[];
  lifecycle?: StoredLifecycle;
  lifecycleChanges?: ByRelease<StoredLifecycle>;
}

interface FactSubresource {
  name: string;
  verbs: string[];
  responseKind: StoredSubresource["responseKind"];
  versions: Record<string, Range & { gate?: string }>;
}

interface FactResource {
  group: string;
  resource: string;
  singular: string;
  namespaced: boolean;
  shortNames: string[];
  categories: string[];
  kind: Record<string, string>;
  versions: Record<string, FactVersion>;
  subresources: FactSubresource[];
  storageVersion: ByRelease<string> | null;
  etcdPrefix?: string;
}

interface FactGroup {
  releases: "all" | ReleaseName[];
  versionOrder: string[] | ByRelease<string[]>;
  apiServicePriority?: Record<string, [number, number] | ByRelease<[number, number]>>;
}

interface FactResources {
  gates: Record<string, ByRelease<{ default: boolean; stage: string }>>;
  groups: Record<string, FactGroup>;
  groupOrder: ByRelease<string[]>;
  resources: FactResource[];
}

interface FactSelector {
  group: string;
  version: string;
  resource: string;
  fields: string[];
  error?: string;
  aliases?: Record<string, string>;
}

interface FactSelectors {
  resources: FactSelector[];
  changes: Record<string, [ReleaseName, string[]][]>;
}

interface FactColumn {
  name: string;
  type: string;
  format?: string;
  priority: number;
  cell: string;
}

interface FactTables {
  default: { columns: FactColumn[]; resources: { group: string; kind: string }[] };
  noTable: { resources: string[] };
  kinds: { group: string; kind: string; columns: FactColumn[] }[];
  columnChanges: Record<string, [ReleaseName, [string, string, string, number][] | null][]>;
}

interface FactField extends Omit<StoredField, "ref" | "items" | "patchStrategy"> {
  ref?: string;
  items?: FactField;
  map?: FactField;
  patchStrategy?: string;
}

interface FactType extends FactField {
  fields?: Record<string, FactField>;
  unions?: StoredUnion[];
}

interface FactSchemas {
  prefixes: [string, string][];
  gvk: Record<string, string>;
  shared: Record<string, { ref: string; groupVersions: Record<string, "all" | [ReleaseName, ReleaseName]> }>;
  types: Record<string, [ReleaseName, FactType | null][]>;
}

/** One line of the protobuf facts. */
interface FactProtobufField {
  protoPackage: string;
  message: string;
  number: string;
  label: "optional" | "repeated" | "map";
  protoType: string;
  jsonName: string;
  kind: "scalar" | "ptr-scalar" | "msg" | "ptr-msg" | "bytes" | "list" | "map" | "special";
  omitempty: string;
  inline: string;
}

const FIRST = RELEASES[0] as ReleaseName;
const LAST = RELEASES.at(-1) as ReleaseName;
const ERROR_STYLES: Readonly<Record<string, FieldSelectorErrorStyle>> = {
  "field label not supported: %s": "label",
  "field label not supported for %s: %s": "kind-label",
  "field label %q not supported for Job": "quoted-label",
};

/** The JSON form of protobuf messages that are not objects in JSON, by message name. */
const MESSAGE_FORMS: Readonly<Record<string, MessageForm>> = {
  Time: "time",
  MicroTime: "micro-time",
  Quantity: "quantity",
  IntOrString: "int-or-string",
  RawExtension: "raw-json",
  FieldsV1: "raw-json",
  JSON: "raw-json",
  Verbs: "string-list",
  ExtraValue: "string-list",
  AttestationValue: "string-list",
  JSONSchemaPropsOrArray: "schema-or-array",
  JSONSchemaPropsOrBool: "schema-or-bool",
  JSONSchemaPropsOrStringArray: "schema-or-strings",
};
/**
 * API groups by the last but one part of the protobuf package, for packages whose group name does not begin with that
 * part.
 */
const GROUPS_OF_PACKAGES: Readonly<Record<string, string>> = {
  core: "",
  extensions: "extensions",
  apiserverinternal: "internal.apiserver.k8s.io",
  meta: "meta.k8s.io",
};

/** DIFFERS: kubernetes still stores CRDs in v1beta1, which it has not served since 1.22. */
const STORED_OTHERWISE: ReadonlyMap<string, string> = new Map([
  ["apiextensions.k8s.io/customresourcedefinitions", "apiextensions.k8s.io/v1"],
]);

/**
 * The facts state where shared kinds are registered as the OpenAPI 3 documents do. After this release, these documents
 * list only group versions that are served, although the scheme of Kubernetes still has the others, except those in
 * UNREGISTERED.
 */
const LAST_WITH_ALL_SHARED: ReleaseName = "1.35";
const UNREGISTERED: ReadonlySet<string> = new Set([
  "autoscaling/v2beta1",
  "autoscaling/v2beta2",
  "scheduling.k8s.io/v1alpha1",
  "scheduling.k8s.io/v1alpha2",
]);

const MUTATING_POLICY_OVERRIDES: ChangePoints<string> = [
  ["1.32", "v1alpha1"],
  ["1.35", "v1beta1"],
  ["1.37", null],
];
const NETWORK_OVERRIDES: ChangePoints<string> = [
  ["1.31", "v1beta1"],
  ["1.34", null],
];
/**
 * The overrides of kubernetes' storage factory, which come before the choice by emulated version and minimum
 * compatibility version. Releases before 1.31 cannot emulate, so their overrides are not needed. From
 * pkg/kubeapiserver/default_storage_factory_builder.go; overrides of resources that do not exist are omitted.
 */
const STORAGE_OVERRIDES: Readonly<Record<string, ChangePoints<string>>> = {
  "admissionregistration.k8s.io/mutatingadmissionpolicies": MUTATING_POLICY_OVERRIDES,
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings": MUTATING_POLICY_OVERRIDES,
  "certificates.k8s.io/clustertrustbundles": [
    ["1.31", "v1alpha1"],
    ["1.33", "v1beta1"],
  ],
  "certificates.k8s.io/podcertificaterequests": [
    ["1.34", "v1alpha1"],
    ["1.35", "v1beta1"],
  ],
  "coordination.k8s.io/leasecandidates": [
    ["1.31", "v1alpha1"],
    ["1.32", "v1alpha2"],
    ["1.33", "v1beta1"],
  ],
  "lifecycle.k8s.io/evictionrequests": [["1.37", "v1alpha1"]],
  "lifecycle.k8s.io/evictions": [["1.37", "v1alpha1"]],
  "networking.k8s.io/ipaddresses": NETWORK_OVERRIDES,
  "networking.k8s.io/servicecidrs": NETWORK_OVERRIDES,
  "resource.k8s.io/devicetaintrules": [
    ["1.33", "v1alpha3"],
    ["1.37", "v1beta2"],
  ],
  "resource.k8s.io/resourcepoolstatusrequests": [["1.36", "v1alpha3"]],
  "scheduling.k8s.io/compositepodgroups": [["1.37", "v1alpha3"]],
  "scheduling.k8s.io/podgroups": [
    ["1.36", "v1alpha2"],
    ["1.37", "v1beta1"],
  ],
  "scheduling.k8s.io/workloads": [
    ["1.35", "v1alpha1"],
    ["1.36", "v1alpha2"],
    ["1.37", "v1beta1"],
  ],
  "storage.k8s.io/volumeattributesclasses": [
    ["1.31", "v1beta1"],
    ["1.36", null],
  ],
  "storagemigration.k8s.io/storageversionmigrations": [["1.37", "v1beta1"]],
};

const DATA = new URL("../src/objects/catalog/data/", import.meta.url);
const factsDirectory = process.argv[2];
if (factsDirectory === undefined) throw new Error("usage: compile-catalog.ts FACTS_DIR");
compile(factsDirectory);

function compile(directory: string): void {
  const readFacts = (file: string): unknown => JSON.parse(readFileSync(join(directory, file), "utf8"));
  const resources = readFacts("resources.json") as FactResources;
  const decodable = readFacts("decodable-versions.json") as Record<string, string[] | ByRelease<string[]>>;
  const selectors = readFacts("field-selectors.json") as FactSelectors;
  const tables = readFacts("table-columns.json") as FactTables;
  const store = gunzipSync(readFileSync(join(directory, "schema/store.json.gz"))).toString();
  const schemas = JSON.parse(store) as FactSchemas;

  const shared = sharedGroupVersions(schemas);
  writeData("resources.json", formatLines(compileResources({ resources, decodable, selectors, registered: shared })));
  writeData("tables.json", formatLines(compileTables(tables, resources)));
  writeData("schemas.json.br", compress(JSON.stringify(compileSchemas(schemas))));
  const fields = readTable<FactProtobufField>(readFileSync(join(directory, "protobuf-fields.tsv"), "utf8"));
  const protobuf = compileProtobuf(fields, Object.keys(resources.groups));
  rejectLostFields(protobuf);
  writeData("protobuf.json.br", compress(JSON.stringify(protobuf)));
}

/**
 * Fields of earlier releases must stay in the tables, because stored objects may have them: a server would read an
 * object without them, and an update would remove them.
 */
function rejectLostFields({ messages }: StoredProtobuf): void {
  const compiled = brotliDecompressSync(readFileSync(new URL("protobuf.json.br", DATA))).toString();
  const fieldsOf = (all: StoredProtobuf["messages"]): readonly string[] =>
    Object.entries(all).flatMap(([name, own]) =>
      Object.entries(own).flatMap(([message, { fields }]) => fields.map(([number]) => `${name}.${message} ${number}`)),
    );
  const found = new Set(fieldsOf(messages));
  const lost = fieldsOf((JSON.parse(compiled) as StoredProtobuf).messages).filter((field) => !found.has(field));
  if (lost.length > 0)
    throw new Error(`protobuf-fields.tsv lacks ${lost.length} fields that the catalog has: ${lost.join(", ")}`);
}

function writeData(file: string, content: string | Buffer): void {
  writeFileSync(new URL(file, DATA), content);
}

function compress(text: string): Buffer {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 22 };
  return brotliCompressSync(Buffer.from(text), { params });
}

/** Formats the data as JSON with one line for each second-level entry. */
function formatLines(data: object): string {
  const sections = Object.entries(data).map(([key, value]: [string, unknown]) => {
    if (Array.isArray(value))
      return `${JSON.stringify(key)}:[\n${value.map((item) => JSON.stringify(item)).join(",\n")}]`;
    const entries = Object.entries(value as object).map(
      ([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`,
    );
    return `${JSON.stringify(key)}:{\n${entries.join(",\n")}}`;
  });
  return `{${sections.join(",\n")}}\n`;
}

function compileResources(facts: {
  resources: FactResources;
  decodable: Record<string, string[] | ByRelease<string[]>>;
  selectors: FactSelectors;
  registered: Record<string, [ReleaseName, ReleaseName]>;
}): StoredResources {
  const { gates, groups, groupOrder, resources } = facts.resources;
  return {
    gates: Object.fromEntries(Object.entries(gates).map(([name, states]) => [name, compileGate(states)])),
    groupOrder: RELEASES.flatMap((release) => (groupOrder[release] ? [[release, groupOrder[release]] as const] : [])),
    registered: Object.fromEntries(Object.entries(facts.registered).filter(([key]) => !isAlwaysServable(groups, key))),
    groups: Object.entries(groups).map(([name, group]) => compileGroup(name, group)),
    resources: resources.map((resource) => {
      const versions = facts.decodable[`${resource.group || "core"}.${resource.resource}`];
      return compileResource(resource, versions ?? [], facts.selectors);
    }),
  };
}

function isAlwaysServable(groups: Record<string, FactGroup>, groupVersion: string): boolean {
  const [version = "", group = ""] = groupVersion.split("/").toReversed();
  const order = groups[group]?.versionOrder ?? [];
  return RELEASES.every((release) => factAt(order, release)?.includes(version));
}

function compileGate(states: ByRelease<{ default: boolean; stage: string }>): ChangePoints<StoredGateState> {
  return changePoints((release) => {
    const state = states[release];
    return state && { stage: state.stage, on: state.default };
  });
}

function compileGroup(name: string, group: FactGroup): StoredGroup {
  const exists = (release: ReleaseName): boolean => group.releases === "all" || group.releases.includes(release);
  const priorities = Object.entries(group.apiServicePriority ?? {}).map(([version, priority]) => [
    version,
    changePoints((release) => factAt(priority, release)),
  ]);
  return {
    name,
    versions: changePoints((release) => (exists(release) ? factAt(group.versionOrder, release) : undefined)),
    priorities: Object.fromEntries(priorities) as StoredGroup["priorities"],
  };
}

function compileResource(
  fact: FactResource,
  decodable: string[] | ByRelease<string[]>,
  selectors: FactSelectors,
): ResourceHistory {
  const { group, resource, singular, namespaced, shortNames, categories, storageVersion } = fact;
  const versions = Object.keys(fact.versions).map((version) => [version, compileVersion(fact, version, selectors)]);
  return {
    group,
    resource,
    singular,
    namespaced,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(fact.etcdPrefix !== undefined && { prefix: fact.etcdPrefix }),
    ...(storageVersion !== null && {
      storage: changePoints((release) => STORED_OTHERWISE.get(`${group}/${resource}`) ?? storageVersion[release]),
      ...compileOverride(group, resource),
      decodable: changePoints((release) => factAt(decodable, release)),
    }),
    versions: Object.fromEntries(versions) as ResourceHistory["versions"],
    ...(fact.subresources.length > 0 && {
      subresources: fact.subresources.map((subresource) => compileSubresource(subresource, fact)),
    }),
  };
}

function compileOverride(group: string, resource: string): Pick<ResourceHistory, "storageOverride"> {
  const points = STORAGE_OVERRIDES[`${group}/${resource}`];
  if (points === undefined) return {};
  return { storageOverride: points.map(([release, version]) => [release, version && `${group}/${version}`]) };
}

function compileVersion(fact: FactResource, version: string, selectors: FactSelectors): StoredVersion {
  const { defaultOn, gate, verbs, lifecycle, lifecycleChanges } = fact.versions[version] as FactVersion;
  const states = { true: "on", false: "off", undefined } as const;
  const fieldSelectors = compileSelectors(fact, version, selectors);
  const aliases = selectors.resources.find((selector) => isSelectorOf(selector, fact, version))?.aliases;
  return {
    kind: fact.kind[version] as string,
    served: changePoints((release) => states[`${defaultOn[release]}`]),
    ...(gate !== undefined && { gate }),
    ...(verbs.join() !== ALL_VERBS.join() && { verbs }),
    ...(lifecycle && { lifecycle: compileLifecycle(lifecycle, lifecycleChanges) }),
    ...(fieldSelectors.length > 0 && { fieldSelectors }),
    ...(aliases && { fieldSelectorAliases: aliases }),
  };
}

/**
 * Adds to each change point the release that introduced the version; the facts omit it there because it never changes.
 */
function compileLifecycle(
  lifecycle: StoredLifecycle,
  changes: ByRelease<StoredLifecycle> | undefined,
): ChangePoints<StoredLifecycle> {
  if (changes === undefined) return [[FIRST, lifecycle]];
  const introduced = lifecycle.introduced === undefined ? {} : { introduced: lifecycle.introduced };
  return RELEASES.flatMap((release) => (changes[release] ? [[release, { ...introduced, ...changes[release] }]] : []));
}

function compileSelectors(
  fact: FactResource,
  version: string,
  { resources, changes }: FactSelectors,
): ChangePoints<StoredFieldSelectors> {
  const known = resources.find((selector) => isSelectorOf(selector, fact, version));
  // A version without selector facts has the error style of the other versions of its resource.
  const described =
    known ?? resources.find(({ group, resource }) => group === fact.group && resource === fact.resource);
  const errorStyle = ERROR_STYLES[described?.error ?? ""] ?? "label";
  const key = `${fact.group === "" ? "" : `${fact.group}/`}${version}/${fact.resource}`;
  const points = changes[key] ?? (known ? [[FIRST, known.fields] as [ReleaseName, string[]]] : []);
  const compiled = points.map(([release, labels]): [ReleaseName, StoredFieldSelectors | null] => {
    return [release, labels.join() === "metadata.name,metadata.namespace" ? null : { labels, errorStyle }];
  });
  return compiled.some(([, value]) => value !== null) ? compiled : [];
}

function isSelectorOf(selector: FactSelector, fact: FactResource, version: string): boolean {
  return selector.group === fact.group && selector.resource === fact.resource && selector.version === version;
}

function compileSubresource(fact: FactSubresource, parent: FactResource): StoredSubresource {
  const versions = Object.entries(fact.versions);
  const gate = versions.find(([, version]) => version.gate !== undefined)?.[1].gate;
  const isAsParent =
    versions.length === Object.keys(parent.versions).length &&
    versions.every(([name, { since, until }]) => {
      const own = parent.versions[name];
      return own?.since === since && own.until === until;
    });
  const present = versions.map(([name, range]) => [
    name,
    changePoints((release) => isInRange(range, release) || undefined),
  ]);
  return {
    name: fact.name,
    verbs: fact.verbs,
    responseKind: fact.responseKind,
    ...(gate !== undefined && { gate }),
    ...(!isAsParent && { present: Object.fromEntries(present) as NonNullable<StoredSubresource["present"]> }),
  };
}

function isInRange({ since, until }: Range, release: ReleaseName): boolean {
  return release >= since.replace("<=", "") && (until === null || release <= until);
}

function compileTables(facts: FactTables, { resources }: FactResources): StoredTables {
  const kindOf = (name: string): string => {
    const resource = resources.find(
      ({ group, resource: plural }) => name === (group === "" ? plural : `${plural}.${group}`),
    );
    if (resource === undefined) throw new Error(`no resource is named ${name}`);
    return `${resource.group}/${Object.values(resource.kind)[0]}`;
  };
  const kinds: Record<string, ChangePoints<readonly StoredColumn[]>> = {};
  for (const { group, kind, columns } of facts.kinds) kinds[`${group}/${kind}`] = [[FIRST, columns.map(compileColumn)]];
  for (const [key, changes] of Object.entries(facts.columnChanges)) {
    const described = facts.kinds.find(({ group, kind }) => `${group}/${kind}` === key)?.columns ?? [];
    const withCell = ([name, type, format, priority]: [string, string, string, number]): StoredColumn => {
      const cell = described.find((column) => column.name === name)?.cell ?? "";
      return compileColumn({ name, type, format, priority, cell });
    };
    kinds[key] = changes.map(([release, columns]) => [release, columns && columns.map(withCell)]);
  }
  // As kubernetes: events of events.k8s.io are printed like those of the core group, with the field names of the core
  // group.
  kinds["events.k8s.io/Event"] = (kinds["/Event"] ?? []).map(([release, columns]) => [
    release,
    columns && columns.map(([name, type, format, priority]) => [name, type, format, priority] as const),
  ]);
  // Kinds that use the default columns get none of their own, although the facts may describe some.
  for (const { group, kind } of facts.default.resources) delete kinds[`${group}/${kind}`];
  return {
    defaultColumns: facts.default.columns.map(compileColumn),
    none: facts.noTable.resources.map(kindOf),
    kinds: Object.fromEntries(Object.entries(kinds).sort(([left], [right]) => (left < right ? -1 : 1))),
  };
}

/** Keeps the cell of a column only if it is the value of a field or its age. All other cells need code. */
function compileColumn({ name, type, format = "", priority, cell }: FactColumn): StoredColumn {
  const pattern = /^(?<age>age of )?(?<path>[a-zA-Z]+(?:\.[a-zA-Z]+)*)(?: as RFC 3339 UTC)?$/;
  const match = pattern.exec(cell)?.groups;
  if (match?.["path"] === undefined) return [name, type, format, priority];
  const plain: StoredColumn = [name, type, format, priority, match["path"]];
  return match["age"] === undefined ? plain : [name, type, format, priority, match["path"], "age"];
}

function compileSchemas(facts: FactSchemas): StoredSchemas {
  const types = Object.keys(facts.types);
  const typePositions = new Map(types.map((name, position) => [name, position]));
  const positionOf = (name: string): number => {
    const position = typePositions.get(name);
    if (position === undefined) throw new Error(`no type is named ${name}`);
    return position;
  };
  const names = createInterner<string>();
  const fields = createInterner<StoredField>();
  const internField = ({ ref, items, map, patchStrategy, ...rest }: FactField): number => {
    const inner = items ?? map;
    return fields.intern({
      ...rest,
      ...(ref !== undefined && { ref: positionOf(ref) }),
      ...(inner !== undefined && { items: internField(inner) }),
      ...(patchStrategy !== undefined && { patchStrategy: patchStrategy.split(",") }),
    });
  };
  const compileType = (fact: FactType): StoredType => {
    const isStruct = fact.fields !== undefined || (fact.type === "object" && !fact.preserveUnknown);
    if (!isStruct) return { scalar: compileScalar(fact) };
    const pairs = Object.entries(fact.fields ?? {}).flatMap(([name, field]) => [
      names.intern(name),
      internField(field),
    ]);
    return {
      fields: pairs,
      ...(fact.mapType && { mapType: fact.mapType }),
      ...(fact.unions && { unions: fact.unions }),
    };
  };
  const variants = types.map((name) =>
    (facts.types[name] ?? []).map(([release, type]) => [release, type && compileType(type)] as const),
  );
  const kinds: Record<string, number[]> = {};
  for (const [gvk, type] of Object.entries(facts.gvk)) {
    (kinds[gvk.slice(0, gvk.lastIndexOf("/"))] ??= []).push(positionOf(type));
  }
  const sharedKinds = Object.fromEntries(
    Object.entries(facts.shared).map(([kind, { ref }]) => [kind, positionOf(ref)]),
  );
  const sharedIn = sharedGroupVersions(facts);
  return {
    prefixes: facts.prefixes,
    names: names.values,
    types,
    fields: fields.values,
    variants,
    kinds,
    sharedKinds,
    sharedIn,
  };
}

function compileScalar({
  type,
  format,
  quantity,
  intOrString,
  embeddedResource,
  preserveUnknown,
}: FactType): StoredField {
  return {
    ...(type !== undefined && type !== "object" && { type }),
    ...(format !== undefined && { format }),
    ...(quantity && { quantity }),
    ...(intOrString && { intOrString }),
    ...(embeddedResource && { embeddedResource }),
    ...(preserveUnknown && { preserveUnknown }),
  };
}

function sharedGroupVersions({ shared }: FactSchemas): Record<string, [ReleaseName, ReleaseName]> {
  const lists = Object.values(shared).map(({ groupVersions }) => groupVersions);
  if (new Set(lists.map((list) => JSON.stringify(list))).size > 1)
    throw new Error("shared kinds have different locations");
  return Object.fromEntries(
    Object.entries(lists[0] ?? {}).map(([groupVersion, range]) => {
      if (range === "all") return [groupVersion, [FIRST, LAST]];
      const isStillRegistered = range[1] >= LAST_WITH_ALL_SHARED && !UNREGISTERED.has(groupVersion);
      return [groupVersion, isStillRegistered ? [range[0], LAST] : range];
    }),
  );
}

/** Parses tab-separated values with a header line. */
function readTable<Row>(text: string): Row[] {
  const [names = [], ...lines] = text
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  return lines.map((cells) => Object.fromEntries(names.map((name, column) => [name, cells[column]])) as Row);
}

function compileProtobuf(facts: readonly FactProtobufField[], groups: readonly string[]): StoredProtobuf {
  const messages: Record<string, Record<string, { form?: MessageForm; fields: StoredProtobufMessage["fields"] }>> = {};
  const packages: Record<string, string> = {};
  for (const fact of facts) {
    const [version = "", group = ""] = fact.protoPackage.split(".").toReversed();
    if (/^v[0-9]/.test(version)) packages[apiVersionOf(group, version, groups)] = fact.protoPackage;
    const known = ((messages[fact.protoPackage] ??= {})[fact.message] ??= compileProtobufForm(fact));
    const type = fact.protoType.replace(/^string>/, "").replace(/^\./, "");
    const shape = compileProtobufShape(fact);
    const name = shape === "inline" ? "" : fact.jsonName;
    known.fields = [...known.fields, [Number(fact.number), name, type, shape, fact.omitempty === "1" ? 1 : 0]];
  }
  addMessagesWithoutFields(messages);
  return { packages, messages };
}

function apiVersionOf(packageGroup: string, version: string, groups: readonly string[]): string {
  const known = GROUPS_OF_PACKAGES[packageGroup] ?? groups.find((name) => name.split(".")[0] === packageGroup);
  const group = known ?? `${packageGroup}.k8s.io`;
  return group === "" ? version : `${group}/${version}`;
}

function compileProtobufForm({ message }: FactProtobufField): { form?: MessageForm; fields: [] } {
  const form = MESSAGE_FORMS[message];
  return form === undefined ? { fields: [] } : { form, fields: [] };
}

function compileProtobufShape({ label, kind, message, inline, protoType }: FactProtobufField): FieldShape {
  if (inline === "1") return "inline";
  if (label !== "optional") return label === "map" ? "map" : "list";
  // The schema in a JSONSchemaPropsOr… message is a pointer in Go; the facts do not state this for messages with their
  // own JSON form.
  if (message.startsWith("JSONSchemaPropsOr") && protoType === "JSONSchemaProps") return "pointer";
  return kind.startsWith("ptr-") ? "pointer" : "value";
}

/** Adds the messages without fields. The facts do not contain them, because they list messages by their fields. */
function addMessagesWithoutFields(messages: Record<string, Record<string, StoredProtobufMessage>>): void {
  const scalars = new Set(["string", "bytes", "bool", "int32", "int64", "double"]);
  for (const [packageName, own] of Object.entries(messages)) {
    for (const type of Object.values(own).flatMap(({ fields }) => fields.map(([, , name]) => name))) {
      if (scalars.has(type)) continue;
      const dot = type.lastIndexOf(".");
      (messages[dot < 0 ? packageName : type.slice(0, dot)] ??= {})[type.slice(dot + 1)] ??= { fields: [] };
    }
  }
}

function createInterner<Value>(): { readonly values: Value[]; intern(value: Value): number } {
  const values: Value[] = [];
  const positions = new Map<string, number>();
  const intern = (value: Value): number => {
    const key = JSON.stringify(value);
    const known = positions.get(key);
    if (known !== undefined) return known;
    positions.set(key, values.push(value) - 1);
    return values.length - 1;
  };
  return { values, intern };
}

function factAt<Value extends readonly unknown[]>(
  fact: Value | ByRelease<Value>,
  release: ReleaseName,
): Value | undefined {
  return Array.isArray(fact) ? (fact as Value) : (fact as ByRelease<Value>)[release];
}

function changePoints<Value>(at: (release: ReleaseName) => Value | undefined): ChangePoints<Value> {
  const points: [ReleaseName, Value | null][] = [];
  let last = "null";
  for (const release of RELEASES) {
    const value = at(release) ?? null;
    const text = JSON.stringify(value);
    if (text !== last) points.push([release, value]);
    last = text;
  }
  return points;
}
