/** Sets the overhead and the scheduling constraints of a pod from its runtime class. */
import { goQuote } from "../../../meta/go-quote.ts";
import type { GroupResource } from "../../../meta/group-version.ts";
import { isJsonObject, objectAt, objectsAt, setMember, type JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { handlesOnly } from "./handled-writes.ts";
import { amountsAt, isSameAmounts } from "../../../meta/amounts.ts";
import { mergedTolerations } from "./merged-tolerations.ts";
import { admissionForbidden } from "./plugin-errors.ts";

const RUNTIME_CLASSES: GroupResource = { group: "node.k8s.io", resource: "runtimeclasses" };
const OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

export function runtimeClass(reader: ObjectReader): AdmissionPlugin {
  return {
    name: "RuntimeClass",
    handles: handlesOnly({ group: "", resource: "pods", operations: { CREATE: [""] } }),
    async mutate(attributes) {
      const found = await classOf(reader, attributes);
      if (found === undefined) return undefined;
      const spec = objectAt(attributes.object, "spec");
      const costed = withOverhead(attributes, spec, found);
      return { ...attributes.object, spec: withScheduling(attributes, costed, found) };
    },
    async validate(attributes) {
      const spec = objectAt(attributes.object ?? {}, "spec");
      const overhead = (await classOf(reader, attributes))?.["overhead"];
      if (isJsonObject(overhead)) {
        if (!isSameAmounts(amountsAt(overhead, "podFixed"), amountsAt(spec, "overhead")))
          throw admissionForbidden(attributes, OTHER_OVERHEAD);
      } else if (isJsonObject(spec["overhead"]))
        throw admissionForbidden(
          attributes,
          "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        );
    },
  };
}

async function classOf(reader: ObjectReader, attributes: Attributes): Promise<JsonObject | undefined> {
  const name = objectAt(attributes.object ?? {}, "spec")["runtimeClassName"];
  if (typeof name !== "string") return undefined;
  const found = reader.get(RUNTIME_CLASSES, "", name) ?? (await reader.newest(RUNTIME_CLASSES, "", name));
  if (found === undefined)
    throw admissionForbidden(attributes, `pod rejected: RuntimeClass ${goQuote(name)} not found`);
  return found;
}

function withOverhead(attributes: Attributes, spec: JsonObject, found: JsonObject): JsonObject {
  const { overhead } = found;
  if (!isJsonObject(overhead)) return spec;
  const stated = amountsAt(spec, "overhead");
  if (stated.size > 0 && !isSameAmounts(amountsAt(overhead, "podFixed"), stated))
    throw admissionForbidden(attributes, OTHER_OVERHEAD);
  const { overhead: _stated, ...rest } = spec;
  const podFixed = objectAt(overhead, "podFixed");
  return Object.keys(podFixed).length === 0 ? rest : { ...rest, overhead: { ...podFixed } };
}

function withScheduling(attributes: Attributes, spec: JsonObject, found: JsonObject): JsonObject {
  const { scheduling } = found;
  if (!isJsonObject(scheduling)) return spec;
  const nodeSelector = { ...objectAt(spec, "nodeSelector") };
  for (const [key, value] of Object.entries(objectAt(scheduling, "nodeSelector"))) {
    if (Object.hasOwn(nodeSelector, key) && nodeSelector[key] !== value) {
      const why = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${String(value)}; pod.spec.nodeSelector[${key}] = ${String(nodeSelector[key])}`;
      throw admissionForbidden(attributes, why);
    }
    setMember(nodeSelector, key, value);
  }
  const tolerations = mergedTolerations(objectsAt(spec, "tolerations"), objectsAt(scheduling, "tolerations"));
  return {
    ...spec,
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
  };
}
