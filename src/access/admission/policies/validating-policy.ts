/** The plugin ValidatingAdmissionPolicy: evaluates all matching policies for a write. */
import type { Authorizer } from "../../auth/authorize.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { AdmissionPlugin, Attributes, ServedVersion } from "../admission.ts";
import type { ConvertedWrite } from "../expressions/activation.ts";
import { isExemptFromPolicies } from "../matching/exemptions.ts";
import type { CompiledPolicy } from "./compiled-policy.ts";
import { decidePolicy } from "./decide.ts";
import { AnnotationValues, PolicyFindings } from "./findings.ts";
import {
  configurationFailure,
  type Invocation,
  type InvocationPorts,
  invocationsOf,
  namespaceObjectOf,
} from "./invocations.ts";
import type { BoundPolicy, PolicyTables } from "./policy-table.ts";

interface ValidatingPolicyPorts extends InvocationPorts {
  readonly tables: Pick<PolicyTables<CompiledPolicy>, "candidates">;
  readonly authorizer: Authorizer;
}

export function createValidatingAdmissionPolicy(ports: ValidatingPolicyPorts): AdmissionPlugin {
  const { tables } = ports;
  return {
    name: "ValidatingAdmissionPolicy",
    handlesChange: true,
    handles: (operation, about) =>
      tables.candidates(operation, about.resource).length > 0 && !isExemptFromPolicies(about),
    async validate(attributes) {
      if (isExemptFromPolicies(attributes)) return;
      const candidates = tables.candidates(attributes.operation, attributes.resource);
      if (candidates.length === 0) return;
      const request = new PolicyRequest(attributes, ports);
      for (const bound of candidates) await request.ask(bound);
      request.findings.conclude();
    },
  };
}

function isSameVersion(left: ServedVersion, right: Pick<Attributes, "kind">): boolean {
  const { group, version, kind } = left.kind;
  return group === right.kind.group && version === right.kind.version && kind === right.kind.kind;
}

class PolicyRequest {
  readonly findings: PolicyFindings;
  readonly #attributes: Attributes;
  readonly #ports: ValidatingPolicyPorts;
  #namespace: Promise<JsonObject | undefined> | undefined;
  readonly #versions = new Map<string, Promise<ConvertedWrite>>();

  constructor(attributes: Attributes, ports: ValidatingPolicyPorts) {
    this.findings = new PolicyFindings(attributes);
    this.#attributes = attributes;
    this.#ports = ports;
  }

  async ask(bound: BoundPolicy<CompiledPolicy>): Promise<void> {
    const invocations = await invocationsOf(bound, this.#attributes, this.#ports, (policy, binding, why) =>
      this.findings.configurationError(policy, binding, why),
    );
    const values = new AnnotationValues();
    for (const invocation of invocations) await this.#invoke(invocation, values);
    this.findings.annotate(bound.policy, values);
  }

  async #invoke(invocation: Invocation<CompiledPolicy>, values: AnnotationValues): Promise<void> {
    const { policy, binding, params } = invocation;
    this.#namespace ??= namespaceObjectOf(this.#attributes, this.#ports);
    const namespaceObject = await this.#namespace;
    const versioned = params.length === 0 ? undefined : await this.#versioned(invocation);
    if (versioned === undefined) return;
    const { authorizer } = this.#ports;
    for (const param of params) {
      const ports = { authorizer, namespaceObject, versioned, params: param };
      this.findings.outcome(policy, binding, decidePolicy(policy.compiled(), this.#attributes, ports), values);
    }
  }

  async #versioned({ version, policy, binding }: Invocation<CompiledPolicy>): Promise<ConvertedWrite | undefined> {
    const { groupVersion, resource } = version;
    const key = `${groupVersion.group}/${groupVersion.version}/${resource}`;
    let write = this.#versions.get(key);
    if (write === undefined) {
      write = this.#converted(version);
      this.#versions.set(key, write);
    }
    try {
      return await write;
    } catch (thrown) {
      const why = `failed to convert object version: ${configurationFailure(thrown)}`;
      this.findings.configurationError(policy, binding, why);
      return undefined;
    }
  }

  async #converted(version: ServedVersion): Promise<ConvertedWrite> {
    const { object, existing, versions } = this.#attributes;
    const inVersion = async (one: JsonObject | undefined): Promise<JsonObject | undefined> =>
      one === undefined || isSameVersion(version, this.#attributes) ? one : versions.convert(one, version);
    return { version, object: await inVersion(object), existing: await inVersion(existing) };
  }
}
