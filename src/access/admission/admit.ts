/**
 * Runs the admission plugins for the writes of a request: `mutate` calls all mutating plugins in order, and a second
 * time if a webhook or policy requests reinvocation; `validate` calls all validating plugins.
 */
import type { JsonObject } from "../../meta/json.ts";
import { StatusError } from "../../meta/status-error.ts";
import type { Admission, AdmittedWrite, Operation } from "../../serving/registry/admission.ts";
import type { AdmissionPlugin, AdmissionRequest, Attributes } from "./admission.ts";
import { Reinvocation } from "./webhooks/reinvocation.ts";

const OPERATIONS: readonly Operation[] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

type About = Pick<AdmissionRequest, "groupVersion" | "resource" | "subresource">;

/** The plugins that may handle a write, by operation. Plugins with `handlesChange` are always included. */
type Candidates = Readonly<Record<Operation, readonly AdmissionPlugin[]>>;

/**
 * The cache of candidates is cleared when it reaches this size; otherwise it would grow with every custom resource that
 * ever existed.
 */
const REMEMBERED_MAX = 4096;

export type AdmitRequest = (request: AdmissionRequest) => Admission | undefined;

/** The returned function returns undefined for a request that no plugin handles. */
export function createAdmission(plugins: readonly AdmissionPlugin[]): AdmitRequest {
  const known = new Map<string, Candidates>();
  return (request) => {
    const { groupVersion, resource, subresource } = request;
    const key = `${groupVersion.group}/${groupVersion.version}/${resource}/${subresource}`;
    let candidates = known.get(key);
    if (candidates === undefined) {
      candidates = candidatesFor(plugins, request);
      if (known.size >= REMEMBERED_MAX) known.clear();
      known.set(key, candidates);
    }
    return hasInterest(candidates, request) ? admission(candidates, request) : undefined;
  };
}

function candidatesFor(plugins: readonly AdmissionPlugin[], about: About): Candidates {
  const [CREATE, UPDATE, DELETE, CONNECT] = OPERATIONS.map((operation) =>
    plugins.filter((plugin) => plugin.handlesChange === true || plugin.handles(operation, about)),
  ) as [AdmissionPlugin[], AdmissionPlugin[], AdmissionPlugin[], AdmissionPlugin[]];
  return { CREATE, UPDATE, DELETE, CONNECT };
}

function hasInterest(candidates: Candidates, about: About): boolean {
  return OPERATIONS.some((operation) => candidates[operation].some((plugin) => isApplicable(plugin, operation, about)));
}

function isApplicable(plugin: AdmissionPlugin, operation: Operation, about: About): boolean {
  return plugin.handlesChange !== true || plugin.handles(operation, about);
}

type MutatingAttributes = Attributes & { readonly object: JsonObject; readonly reinvocation: Reinvocation };

function admission(candidates: Candidates, request: AdmissionRequest): Admission {
  return {
    // Plugins with handlesChange, such as webhooks and policies, may read managed fields; other plugins ignore them.
    omitsManagedFields() {
      return !candidates.CREATE.some(
        (plugin) => plugin.handlesChange === true && isApplicable(plugin, "CREATE", request),
      );
    },
    async mutate(write) {
      const reinvocation = new Reinvocation();
      const round = async (before: JsonObject): Promise<JsonObject> => {
        let object = before;
        // Plugins that leave the object unchanged share the attributes.
        let attributes: MutatingAttributes | undefined;
        for (const plugin of candidates[write.operation]) {
          if (plugin.mutate === undefined || !isApplicable(plugin, write.operation, request)) continue;
          attributes ??= { ...attributesOf(request, write), object, reinvocation };
          const next = (await mutated(plugin, attributes)) ?? object;
          if (next !== object) attributes = undefined;
          object = next;
        }
        return object;
      };
      const first = await round(write.object);
      if (!reinvocation.isRequested) return first;
      reinvocation.beginSecond();
      return round(first);
    },
    async validate(write) {
      let attributes: Attributes | undefined;
      for (const plugin of candidates[write.operation]) {
        if (plugin.validate === undefined || !isApplicable(plugin, write.operation, request)) continue;
        attributes ??= attributesOf(request, write);
        try {
          const validating = plugin.validate(attributes);
          if (validating !== undefined) await validating;
        } catch (thrown) {
          throw StatusError.from(thrown);
        }
      }
    },
  };
}

async function mutated(plugin: AdmissionPlugin, attributes: MutatingAttributes): Promise<JsonObject | undefined> {
  try {
    return await plugin.mutate?.(attributes);
  } catch (thrown) {
    throw StatusError.from(thrown);
  }
}

function attributesOf(request: AdmissionRequest, write: AdmittedWrite): Attributes {
  return {
    ...request,
    ...write,
    warn: (text) => request.warn(text),
    annotate: (key, value) => request.annotate(key, value),
  };
}
