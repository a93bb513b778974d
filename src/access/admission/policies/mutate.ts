/** Evaluates one mutation of a MutatingAdmissionPolicy and applies the result to the object. */
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import { messageOf } from "../../../base/within.ts";
import type { Attributes, ServedVersion } from "../admission.ts";
import { activationOf, type ActivationPorts } from "../expressions/activation.ts";
import { createEvaluator, OutOfBudget, POLICY_COST_MAX } from "../expressions/evaluate.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { patched, PatchProblem } from "../webhooks/patch.ts";
import { internalError } from "../webhooks/webhook-errors.ts";
import type { Value } from "../../../objects/cel/values/value.ts";
import { applyConfiguration } from "./apply-configuration.ts";
import type { CompiledMutation, CompiledMutations } from "./compiled-mutations.ts";
import { MutationError } from "./mutation-error.ts";
import { appliedConfiguration, patchOperations } from "./mutation-value.ts";
import { paramKindText } from "./params.ts";

export interface MutatePorts {
  /** The schema of the kind in this version; undefined if it is not available yet. */
  readonly schemaOf: (version: ServedVersion) => StructSchema | undefined;
  /**
   * Decodes a changed object as if a client had sent it in this version: drops unknown fields and applies defaults.
   * Throws the error of the decoder.
   */
  readonly decode: (object: JsonObject, version: ServedVersion) => Promise<JsonObject> | JsonObject;
}

type Versioned = NonNullable<ActivationPorts["versioned"]> & { readonly object: JsonObject };

/**
 * Returns the changed object in the same version, or `object` itself if a patch changes nothing. Throws a MutationError
 * or a StatusError.
 */
export async function mutate(
  { kind, expression }: CompiledMutation,
  { variables }: Pick<CompiledMutations, "variables">,
  attributes: Attributes,
  ports: ActivationPorts & MutatePorts & { readonly versioned: Versioned },
): Promise<JsonObject> {
  const { version, object } = ports.versioned;
  const schema = ports.schemaOf(version);
  if (schema === undefined) throw unknownSchema(version);
  if (expression.error !== undefined) throw new MutationError(expression.error.message);
  const value = evaluated(createEvaluator(activationOf(attributes, ports), variables), expression);
  if (kind === "applyConfiguration")
    return decoded(applyConfiguration(object, appliedConfiguration(value), schema), ports, version);
  const operations = patchOperations(value);
  const changed = operations.length === 0 ? object : patchedObject(object, operations);
  return changed === object ? object : decoded(changed, ports, version);
}

function unknownSchema({ kind }: ServedVersion): StatusError {
  const what = "There can be a delay between when CustomResourceDefinitions are created and when they are available.";
  return new StatusError("ServiceUnavailable", `Resource kind ${paramKindText(kind)} not found. ${what}`);
}

function evaluated(evaluator: ReturnType<typeof createEvaluator>, expression: CompiledMutation["expression"]): Value {
  try {
    const result = evaluator.evaluate(expression, { remaining: POLICY_COST_MAX });
    if ("value" in result) return result.value;
    throw new MutationError(result.error);
  } catch (error) {
    throw error instanceof OutOfBudget ? new MutationError(error.message) : error;
  }
}

/** Returns `object` itself if a test operation of the patch fails. */
function patchedObject(object: JsonObject, operations: readonly JsonObject[]): JsonObject {
  try {
    return sameKind(patched(object, operations), object);
  } catch (error) {
    if (!(error instanceof PatchProblem)) throw error;
    if (error.message.endsWith("test failed")) return object;
    throw new MutationError(`JSON Patch: ${error.message}`);
  }
}

function sameKind(after: JsonObject, before: JsonObject): JsonObject {
  const { apiVersion, kind } = after;
  if (kind === before["kind"] && apiVersion === before["apiVersion"]) return after;
  const what = `no kind ${JSON.stringify(kind ?? "")} is registered for version ${JSON.stringify(apiVersion ?? "")}`;
  throw internalError(`${what} in scheme "pkg/api/legacyscheme/scheme.go:30"`);
}

async function decoded(object: JsonObject, { decode }: MutatePorts, version: ServedVersion): Promise<JsonObject> {
  try {
    const result = await decode(object, version);
    if (isJsonObject(result)) return result;
  } catch (error) {
    throw error instanceof StatusError ? error : internalError(messageOf(error), error);
  }
  throw internalError("no object");
}
