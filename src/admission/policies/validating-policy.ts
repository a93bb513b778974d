/** The plugin that asks ValidatingAdmissionPolicies about writes. */
import type { Authorizer } from "../../auth/authorize.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { ObjectReader } from "../../meta/object-table.ts";
import { notFound, StatusError } from "../../meta/status-error.ts";
import type { AdmissionPlugin, Attributes, ServedVersion } from "../admission.ts";
import type { VersionedWrite } from "../expressions/activation.ts";
import { matchCriteria } from "../matching/criteria.ts";
import { isExemptFromPolicies } from "../matching/exemptions.ts";
import { readNamespace } from "../matching/selectors.ts";
import { decide } from "./decide.ts";
import { AnnotationValues, Findings } from "./findings.ts";
import { collectParams, ParamError, type ParamKinds, paramKindText } from "./params.ts";
import type { Binding, BoundPolicy, Policy, PolicyTables } from "./policy-table.ts";

export interface ValidatingPolicyPorts {
  readonly tables: PolicyTables;
  /** Namespaces. */
  readonly objects: Pick<ObjectReader, "get" | "newest">;
  readonly paramKinds: ParamKinds;
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

/** Why a policy or a binding cannot be used. */
function configurationFailure(thrown: unknown): string {
  if (thrown instanceof StatusError || thrown instanceof ParamError) return thrown.message;
  throw thrown;
}

function isSameVersion(left: ServedVersion, right: Pick<Attributes, "kind">): boolean {
  const { group, version, kind } = left.kind;
  return group === right.kind.group && version === right.kind.version && kind === right.kind.kind;
}

class PolicyRequest {
  readonly findings: Findings;
  readonly #attributes: Attributes;
  readonly #ports: ValidatingPolicyPorts;
  #namespace: Promise<JsonObject | undefined> | undefined;
  readonly #versions = new Map<string, Promise<VersionedWrite>>();

  constructor(attributes: Attributes, ports: ValidatingPolicyPorts) {
    this.findings = new Findings(attributes);
    this.#attributes = attributes;
    this.#ports = ports;
  }

  async ask({ policy, bindings }: BoundPolicy): Promise<void> {
    const version = await this.#matchedVersion(policy);
    if (version === undefined) return;
    const { paramKind } = policy;
    const params = paramKind === undefined ? undefined : this.#ports.paramKinds(paramKind);
    if (paramKind !== undefined && params === undefined) {
      const why = `failed to find resource referenced by paramKind: '${paramKindText(paramKind)}'`;
      this.findings.configurationError(policy, undefined, why);
      return;
    }
    const values = new AnnotationValues();
    for (const binding of bindings) {
      const found = await this.#paramsOf(binding, policy, params);
      if (found === undefined) continue;
      const namespaceObject = await this.#namespaceObject();
      const versioned = found.length === 0 ? undefined : await this.#versioned(version, policy, binding);
      if (versioned === undefined) continue;
      for (const param of found) {
        const { authorizer } = this.#ports;
        const outcome = decide(policy.compiled(), this.#attributes, {
          authorizer,
          namespaceObject,
          versioned,
          params: param,
        });
        this.findings.outcome(policy, binding, outcome, values);
      }
    }
    this.findings.annotate(policy, values);
  }

  /** Undefined where the policy does not apply. */
  async #matchedVersion(policy: Policy): Promise<ServedVersion | undefined> {
    const { criteria } = policy;
    if (criteria === undefined) {
      this.findings.configurationError(policy, undefined, "policy contained no match constraints, a required field");
      return undefined;
    }
    try {
      return await matchCriteria(criteria, this.#attributes, this.#ports.objects);
    } catch (thrown) {
      this.findings.configurationError(policy, undefined, configurationFailure(thrown));
      return undefined;
    }
  }

  /** Undefined where the binding does not apply. */
  async #paramsOf(
    binding: Binding,
    policy: Policy,
    params: ReturnType<ParamKinds>,
  ): Promise<readonly (JsonObject | undefined)[] | undefined> {
    const { criteria } = binding;
    const attributes = this.#attributes;
    try {
      const isMatch =
        criteria === undefined || (await matchCriteria(criteria, attributes, this.#ports.objects)) !== undefined;
      return isMatch ? await collectParams(params, binding.object, attributes.namespace) : undefined;
    } catch (thrown) {
      this.findings.configurationError(policy, binding, configurationFailure(thrown));
      return undefined;
    }
  }

  /** Of the written object; a Namespace is in none. Throws a StatusError where there is no such namespace. */
  #namespaceObject(): Promise<JsonObject | undefined> {
    this.#namespace ??= this.#readNamespace();
    return this.#namespace;
  }

  async #readNamespace(): Promise<JsonObject | undefined> {
    const { namespace, kind } = this.#attributes;
    const isNamespace = kind.group === "" && kind.version === "v1" && kind.kind === "Namespace";
    if (namespace === "" || isNamespace) return undefined;
    const found = await readNamespace(this.#ports.objects, namespace);
    if (found === undefined) throw notFound({ group: "", resource: "namespaces" }, namespace);
    return found;
  }

  async #versioned(version: ServedVersion, policy: Policy, binding: Binding): Promise<VersionedWrite | undefined> {
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

  async #converted(version: ServedVersion): Promise<VersionedWrite> {
    const { object, existing, versions } = this.#attributes;
    const inVersion = async (one: JsonObject | undefined): Promise<JsonObject | undefined> =>
      one === undefined || isSameVersion(version, this.#attributes) ? one : versions.convert(one, version);
    return { version, object: await inVersion(object), existing: await inVersion(existing) };
  }
}
