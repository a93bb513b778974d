/**
 * Generates one fuzzing case: an object to create first (the victim), one random request to it (the attack), and the
 * effect of that request if it is accepted.
 */
import { isJsonObject, objectAt, type JsonObject } from "../../src/meta/json.ts";
import type { SchemaSource } from "../../src/objects/catalog/schema-source.ts";
import { jsonBody, randomBody, type Body } from "./bodies.ts";
import { diceOf, type Dice, type Weighted } from "./dice.ts";
import { randomStruct, type Recipe } from "./generate.ts";
import { randomAccept, randomHeaders, type Headers } from "./headers.ts";
import { cloneValue, decorate, mutate } from "./mutate.ts";
import { oddRequest } from "./odd-paths.ts";
import { randomPatch } from "./patches.ts";
import {
  connectParameters,
  deleteParameters,
  queryText,
  readParameters,
  writeParameters,
  type Parameter,
} from "./queries.ts";
import { sampleName, sampleOf } from "./samples.ts";
import { collectionPath, type Target, type Targets } from "./targets.ts";

/** Placeholders in a body. They are replaced by the values that the server has returned for the object. */
export const CURRENT_VERSION = "@resourceVersion@";
export const CURRENT_UID = "@uid@";

export interface FuzzRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Headers;
  readonly body?: Buffer | string;
}

/**
 * The effect of the request if it is accepted. A later read must show a creation, a change or a deletion; the other
 * effects are not checked.
 */
export type Effect = "creates" | "changes" | "changes-part" | "deletes" | "reads" | "anything";

export interface FuzzCase {
  readonly number: number;
  readonly target: Target;
  readonly collection: string;
  /** Name of the object to which the request is sent, whether or not the object exists. */
  readonly name: string;
  /** Bodies from which to create the object first, the most unusual one first; empty if the object must not exist. */
  readonly victims: readonly JsonObject[];
  readonly request: FuzzRequest;
  readonly effect: Effect;
  readonly isDryRun: boolean;
}

interface Making {
  readonly number: number;
  readonly dice: Dice;
  readonly targets: Targets;
  readonly schemas: SchemaSource;
}

export function makeCase(options: {
  readonly seed: number;
  readonly number: number;
  readonly targets: Targets;
  readonly schemas: SchemaSource;
}): FuzzCase {
  const making = { ...options, dice: diceOf(options.seed, options.number) };
  return making.dice.weighted(ATTACKS)(making);
}

const ATTACKS: Weighted<(making: Making) => FuzzCase> = [
  [36, createCase],
  [14, updateCase],
  [26, patchCase],
  [9, subresourceCase],
  [4, deleteCase],
  [6, readCase],
  [5, oddCase],
];

function recipeOf(dice: Dice): Recipe {
  return { dice, hostility: dice.pick([0, 0.05, 0.2]), fieldsLeft: dice.pick([4, 12, 40]) };
}

function sample(target: Target, name: string): JsonObject {
  const { apiVersion, kind, key, version, isNamespaced } = target;
  const metadata = isNamespaced ? { name, namespace: "default" } : { name };
  return cloneValue({ apiVersion, kind, metadata, ...sampleOf(key, { name, version }) }) as JsonObject;
}

/** A case without its request. */
type Scene = Omit<FuzzCase, "request" | "effect" | "isDryRun">;

function sceneOf({ number, dice }: Making, target: Target, hasVictim: boolean): Scene {
  const name = sampleName(target.key, number);
  const scene = { number, target, name, collection: collectionPath(target), victims: [] };
  if (!hasVictim) return scene;
  const plain = sample(target, name);
  if (dice.chance(0.5)) return { ...scene, victims: [plain] };
  const adorned = decorate(cloneValue(plain) as JsonObject, target.schema, { dice, hostility: 0, fieldsLeft: 12 });
  return { ...scene, victims: [adorned, plain] };
}

interface Sending {
  readonly method: string;
  readonly path: string;
  readonly body: Body | undefined;
  readonly parameters: readonly Parameter[];
}

/** The request of a write; some writes are dry runs. */
function written(dice: Dice, { method, path, body, parameters }: Sending): Pick<FuzzCase, "request" | "isDryRun"> {
  const isDryRun = dice.chance(0.1);
  const all: readonly Parameter[] = isDryRun
    ? [...parameters.filter(([name]) => name !== "dryRun"), ["dryRun", "All"]]
    : parameters;
  const headers = randomHeaders(body?.contentType, dice);
  const request = { method, target: path + queryText(all, dice), headers };
  return { request: body === undefined ? request : { ...request, body: body.bytes }, isDryRun };
}

function createCase(making: Making): FuzzCase {
  const { dice, targets, number } = making;
  const target = targets.any(dice);
  const scene = sceneOf(making, target, false);
  const recipe = recipeOf(dice);
  const object = dice.chance(0.9)
    ? sample(target, scene.name)
    : { ...randomStruct(target.schema, recipe), metadata: { name: `f${number}` } };
  if (dice.chance(0.7)) decorate(object, target.schema, { ...recipe, hostility: 0 });
  if (dice.chance(0.7)) mutate(object, target.schema, recipe);
  const sending = { method: "POST", path: scene.collection, body: randomBody(object, dice) };
  const effect = target.isStored ? "creates" : "anything";
  return { ...scene, effect, ...written(dice, { ...sending, parameters: writeParameters(dice, target) }) };
}

/** The victim with changes, as a client sends it in an update after reading it. */
function changedVictim({ victims, target, name }: Scene, dice: Dice): JsonObject {
  const object = cloneValue(victims[0] ?? sample(target, name)) as JsonObject;
  const metadata = objectAt(object, "metadata");
  if (dice.chance(0.6)) metadata["resourceVersion"] = dice.chance(0.95) ? CURRENT_VERSION : "1";
  if (dice.chance(0.2)) metadata["uid"] = dice.chance(0.9) ? CURRENT_UID : "x";
  const recipe = recipeOf(dice);
  if (dice.chance(0.7)) decorate(object, target.schema, { ...recipe, hostility: 0 });
  return dice.chance(0.7) ? mutate(object, target.schema, recipe) : object;
}

function updateCase(making: Making): FuzzCase {
  const { dice, targets } = making;
  const target = targets.stored(dice);
  const scene = sceneOf(making, target, dice.chance(0.93));
  const body = randomBody(changedVictim(scene, dice), dice);
  const sending = { method: "PUT", path: `${scene.collection}/${scene.name}`, body };
  return { ...scene, effect: "changes", ...written(dice, { ...sending, parameters: writeParameters(dice, target) }) };
}

function patchCase(making: Making): FuzzCase {
  const { dice, targets } = making;
  const target = targets.stored(dice);
  const scene = sceneOf(making, target, dice.chance(0.93));
  const object = scene.victims[0] ?? sample(target, scene.name);
  const patch = randomPatch({ object, schema: target.schema, recipe: recipeOf(dice) });
  const owner: Parameter[] = patch.isApply && dice.chance(0.95) ? [["fieldManager", dice.pick(["fuzz", "other"])]] : [];
  const force: Parameter[] = patch.isApply && dice.chance(0.3) ? [["force", "true"]] : [];
  const parameters = [...owner, ...force, ...writeParameters(dice, target)];
  const path = `${scene.collection}/${scene.name}`;
  return { ...scene, effect: "changes", ...written(dice, { method: "PATCH", path, body: patch, parameters }) };
}

const WRITING_VERBS: Readonly<Record<string, string>> = { create: "POST", update: "PUT", patch: "PATCH" };

function subresourceCase(making: Making): FuzzCase {
  const { dice, targets, schemas } = making;
  const target = targets.withSubresources(dice);
  const scene = sceneOf(making, target, true);
  const { name: subresource, verbs, responseKind } = dice.pick(target.subresources);
  const path = `${scene.collection}/${scene.name}/${subresource}`;
  const method = WRITING_VERBS[dice.pick(verbs)] ?? "GET";
  const schema = schemas.kind(responseKind.group, responseKind.version, responseKind.kind) ?? target.schema;
  const isConnection = ["proxy", "log", "exec", "attach", "portforward"].includes(subresource);
  const parameters = isConnection ? connectParameters(dice, target) : writeParameters(dice, target);
  if (method === "GET" || isConnection)
    return { ...scene, effect: "reads", ...written(dice, { method, path, body: undefined, parameters }) };
  const object =
    schema === target.schema ? changedVictim(scene, dice) : partOfKind(scene, responseKind, { dice, schema });
  const body = method === "PATCH" ? randomPatch({ object, schema, recipe: recipeOf(dice) }) : randomBody(object, dice);
  return { ...scene, effect: "changes-part", ...written(dice, { method, path, body, parameters }) };
}

function partOfKind(
  { name }: Scene,
  { group, version, kind }: { readonly group: string; readonly version: string; readonly kind: string },
  { dice, schema }: { readonly dice: Dice; readonly schema: Target["schema"] },
): JsonObject {
  const recipe = recipeOf(dice);
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const object: JsonObject = {
    apiVersion,
    kind,
    metadata: { name, namespace: "default", ...(dice.chance(0.3) ? { resourceVersion: CURRENT_VERSION } : {}) },
    ...(kind === "Scale" ? { spec: { replicas: dice.int(5) } } : {}),
    ...(kind === "Binding" ? { target: { kind: "Node", name: "node-a" } } : {}),
  };
  decorate(object, schema, { ...recipe, hostility: 0 });
  return dice.chance(0.6) ? mutate(object, schema, recipe) : object;
}

function deleteCase(making: Making): FuzzCase {
  const { dice, targets, schemas } = making;
  const target = targets.stored(dice);
  const scene = sceneOf(making, target, true);
  const path = dice.chance(0.85) ? `${scene.collection}/${scene.name}` : scene.collection;
  const options = schemas.kind("", "v1", "DeleteOptions");
  const recipe = recipeOf(dice);
  const object: JsonObject = { apiVersion: "v1", kind: "DeleteOptions" };
  const body = (): Body =>
    options === undefined || dice.chance(0.2)
      ? randomBody(object, dice)
      : randomBody(mutate({ ...object, ...randomStruct(options, recipe) }, options, recipe), dice);
  const parameters = deleteParameters(dice, target);
  const sent = dice.chance(0.6) ? body() : undefined;
  const { request, isDryRun } = written(dice, { method: "DELETE", path, body: sent, parameters });
  // As kubernetes: delete options in a body replace those in the query.
  const hasBody = sent !== undefined && sent.bytes.length > 0;
  return { ...scene, effect: "deletes", request, isDryRun: isDryRun && !hasBody };
}

function readCase(making: Making): FuzzCase {
  const { dice, targets } = making;
  const target = targets.stored(dice);
  const scene = sceneOf(making, target, true);
  const path = dice.weighted<string>([
    [6, scene.collection],
    [2, `${scene.collection}/${scene.name}`],
    [2, scene.collection.replace("/namespaces/default", "")],
  ]);
  const query = queryText(readParameters(dice, target), dice);
  const headers = dice.chance(0.4) ? { accept: randomAccept(dice) } : randomHeaders(undefined, dice);
  return { ...scene, effect: "reads", isDryRun: false, request: { method: "GET", target: path + query, headers } };
}

function oddCase(making: Making): FuzzCase {
  const { dice, targets } = making;
  const target = targets.any(dice);
  const { method, path } = oddRequest(dice, target);
  const headers = { ...randomHeaders(undefined, dice), ...(dice.chance(0.3) ? { accept: randomAccept(dice) } : {}) };
  const hasBody = method !== "GET" && method !== "HEAD" && dice.chance(0.5);
  const body = hasBody ? jsonBody(sample(target, `f${making.number}`)).bytes : undefined;
  const request = { method, target: path, headers };
  return {
    ...sceneOf(making, target, false),
    effect: "anything",
    isDryRun: false,
    request:
      body === undefined ? request : { ...request, headers: { "content-type": "application/json", ...headers }, body },
  };
}

/** Replaces the placeholders in the body by the values that the server has returned. */
export function withCurrent(request: FuzzRequest, current: unknown): FuzzRequest {
  if (typeof request.body !== "string" || !request.body.includes("@")) return request;
  const metadata = isJsonObject(current) ? objectAt(current, "metadata") : {};
  const body = request.body
    .replaceAll(CURRENT_VERSION, String(metadata["resourceVersion"] ?? "1"))
    .replaceAll(CURRENT_UID, String(metadata["uid"] ?? "x"));
  return { ...request, body };
}
