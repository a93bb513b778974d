/** The plugin MutatingAdmissionPolicy: applies the mutations of all matching policies in order. */
import type { Authorizer } from "../../auth/authorize.ts";
import { jsonEquals, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { conditionActivation } from "../expressions/activation.ts";
import { createEvaluator } from "../expressions/evaluate.ts";
import { evaluateConditions } from "../expressions/match-conditions.ts";
import { isExemptFromPolicies } from "../matching/exemptions.ts";
import type { MutatedAttributes } from "../webhooks/mutating.ts";
import { Reinvocation } from "../webhooks/reinvocation.ts";
import { ChangingWrite, type VersionedWrite } from "../webhooks/versioned-write.ts";
import type { CompiledMutations } from "./compiled-mutations.ts";
import { type Invocation, type InvocationPorts, invocationsOf, namespaceObjectOf } from "./invocations.ts";
import { mutate, type MutatePorts } from "./mutate.ts";
import { MutationError } from "./mutation-error.ts";
import { policyDenial, type PolicyFailure } from "./policy-denied.ts";
import type { BoundPolicy, PolicyTables } from "./policy-table.ts";

export interface MutatingPolicyPorts extends InvocationPorts, MutatePorts {
  readonly tables: Pick<PolicyTables<CompiledMutations>, "candidates">;
  readonly authorizer: Authorizer;
}

const NAME = "MutatingAdmissionPolicy";

export function createMutatingAdmissionPolicy(ports: MutatingPolicyPorts): AdmissionPlugin {
  const { tables } = ports;
  return {
    name: NAME,
    handlesChange: true,
    handles: (operation, about) =>
      operation !== "DELETE" && tables.candidates(operation, about.resource).length > 0 && !isExemptFromPolicies(about),
    async mutate(attributes) {
      if (isExemptFromPolicies(attributes)) return undefined;
      return new MutationRequest(attributes, ports).run(tables.candidates(attributes.operation, attributes.resource));
    },
  };
}

/** One binding of a policy together with one of its parameters. */
interface Single {
  readonly invocation: Invocation<CompiledMutations>;
  readonly param: JsonObject | undefined;
}

function keyOf({ invocation: { policy, binding }, param }: Single): string {
  const metadata = objectAt(param ?? {}, "metadata");
  return [policy.name, binding.name, stringAt(metadata, "namespace"), stringAt(metadata, "name")].join("/");
}

class MutationRequest {
  readonly #attributes: Attributes;
  readonly #ports: MutatingPolicyPorts;
  readonly #reinvocation: Reinvocation;
  readonly #write: ChangingWrite;
  readonly #errors: PolicyFailure[] = [];

  constructor(attributes: MutatedAttributes, ports: MutatingPolicyPorts) {
    this.#attributes = attributes;
    this.#ports = ports;
    this.#reinvocation = attributes.reinvocation ?? new Reinvocation();
    this.#write = new ChangingWrite(attributes);
  }

  /** Determines which policies match before the first policy changes the object. */
  async run(candidates: readonly BoundPolicy<CompiledMutations>[]): Promise<JsonObject | undefined> {
    const invocations: Invocation<CompiledMutations>[] = [];
    for (const bound of candidates)
      invocations.push(
        ...(await invocationsOf(bound, this.#attributes, this.#ports, (policy, binding, why) => {
          const what = binding === undefined ? "policy" : "binding";
          this.#error({ policy, binding, message: `failed to configure ${what}: ${why}`, reason: "Forbidden" });
        })),
      );
    const all = invocations.flatMap((invocation) => invocation.params.map((param): Single => ({ invocation, param })));
    const result = all.length === 0 ? undefined : await this.#invokeAll(all);
    const denial = policyDenial(this.#attributes, this.#errors);
    if (denial !== undefined) throw denial;
    return result;
  }

  #error(error: PolicyFailure): void {
    if (!error.policy.isIgnoring) this.#errors.push(error);
  }

  async #invokeAll(all: readonly Single[]): Promise<JsonObject | undefined> {
    const state = this.#reinvocation.of(NAME);
    const { isSecond } = this.#reinvocation;
    if (isSecond) state.resume(this.#attributes.object);
    const namespaceObject = await namespaceObjectOf(this.#attributes, this.#ports);
    for (const single of all) {
      const key = keyOf(single);
      const before = await this.#write.inVersion(single.invocation.version);
      if (!this.#isMeant(single, before)) continue;
      if (isSecond && !state.isOutdated(key)) continue;
      if (await this.#mutate(single, before, namespaceObject)) {
        state.outdate();
        this.#reinvocation.request();
      }
      if (single.invocation.policy.compiled().isReinvocable) state.asked(key);
    }
    const result = await this.#write.result();
    state.finish(result ?? this.#attributes.object);
    return result;
  }

  /** Whether the match conditions of the policy are true. Records an error if they cannot be evaluated. */
  #isMeant({ invocation: { policy, binding }, param }: Single, versioned: VersionedWrite): boolean {
    const { conditions, variables } = policy.compiled();
    if (conditions.length === 0) return true;
    const { authorizer } = this.#ports;
    const activation = conditionActivation(this.#attributes, { authorizer, versioned, params: param });
    const outcome = evaluateConditions(conditions, createEvaluator(activation, variables));
    if (outcome.kind === "error") this.#error({ policy, binding, message: outcome.message, reason: "Invalid" });
    return outcome.kind === "match";
  }

  /**
   * Applies all mutations of the policy, and returns whether the object has changed. After a failed mutation, the next
   * mutation still runs.
   */
  async #mutate(
    { invocation, param }: Single,
    before: VersionedWrite,
    namespaceObject: JsonObject | undefined,
  ): Promise<boolean> {
    const { policy, binding, version } = invocation;
    const compiled = policy.compiled();
    for (const mutation of compiled.mutations) {
      const { object, existing } = await this.#write.inVersion(version);
      if (object === undefined) continue;
      const versioned = { version, object, existing };
      try {
        const ports = { ...this.#ports, namespaceObject, params: param, versioned };
        const after = await mutate(mutation, compiled, this.#attributes, ports);
        if (after !== object) this.#write.replace(after);
      } catch (thrown) {
        if (!(thrown instanceof MutationError)) throw thrown;
        this.#error({ policy, binding, message: thrown.message, reason: "Invalid" });
      }
    }
    return !jsonEquals(before.object, (await this.#write.inVersion(version)).object);
  }
}
