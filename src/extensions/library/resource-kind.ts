/** Adds the hooks of a program's resource to the behavior that its schema defines. */
import type { Kind } from "../../objects/kinds/kind.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { StatusError } from "../../meta/status-error.ts";
import type { CustomShape, ServedResource } from "../../serving/registry/resource.ts";
import type { ResourceDefinition, ResourceHooks } from "./resource-definition.ts";

type Convert = NonNullable<ResourceDefinition["convert"]>;

export interface ResourceBehavior {
  /** The hooks of each version. */
  readonly hooksOf: (apiVersion: string) => ResourceHooks;
  readonly convert: Convert | undefined;
}

export function withHooks(served: ServedResource, { hooksOf, convert }: ResourceBehavior): ServedResource {
  const { custom, meaning, apiVersion } = served;
  return {
    ...served,
    meaning: joined(meaning, hooksOf(apiVersion)),
    custom: custom && {
      ...custom,
      finish: finishing(custom, hooksOf),
      convert: convert && ((objects, to) => convertAll(objects, formatGroupVersion(to), convert)),
    },
  };
}

/** Combines the schema with the hooks: the rules of the schema run first, then the hooks. */
function joined(schema: Kind, hooks: ResourceHooks): Kind {
  return {
    ...schema,
    setDefaults(object, context) {
      schema.setDefaults?.(object, context);
      hooks.setDefaults?.(object);
    },
    prepareCreate(object, context) {
      schema.prepareCreate?.(object, context);
      hooks.prepareCreate?.(object);
    },
    prepareUpdate(object, existing, context) {
      schema.prepareUpdate?.(object, existing, context);
      hooks.prepareUpdate?.(object, existing);
    },
    *createErrors(object, context) {
      yield* schema.createErrors?.(object, context) ?? [];
      yield* hooks.validate?.(object) ?? [];
    },
    *updateErrors(object, existing, context) {
      yield* schema.updateErrors?.(object, existing, context) ?? [];
      yield* hooks.validate?.(object, existing) ?? [];
    },
    *statusUpdateErrors(object, existing, context) {
      yield* schema.statusUpdateErrors?.(object, existing, context) ?? [];
      yield* hooks.validateStatus?.(object, existing) ?? [];
    },
    *warnings(object, existing, context) {
      yield* schema.warnings?.(object, existing, context) ?? [];
      yield* hooks.warnings?.(object, existing) ?? [];
    },
  };
}

/** Prunes the object, sets the defaults of its schema, and then runs the `setDefaults` hook of the object's version. */
function finishing(custom: CustomShape, hooksOf: ResourceBehavior["hooksOf"]): CustomShape["finish"] {
  return (object) => {
    const hasChanged = custom.finish(object);
    const hooks = hooksOf(stringAt(object, "apiVersion"));
    if (hooks.setDefaults === undefined) return hasChanged;
    const before = JSON.stringify(object);
    hooks.setDefaults(object);
    return hasChanged || JSON.stringify(object) !== before;
  };
}

async function convertAll(objects: readonly JsonObject[], to: string, convert: Convert): Promise<JsonObject[]> {
  const converted: JsonObject[] = [];
  for (const object of objects) {
    const response: unknown = await convert(structuredClone(object), to);
    if (!isJsonObject(response)) throw failed(object, to);
    converted.push(withIdentity(response, object, to));
  }
  return converted;
}

/**
 * As kubernetes for conversion webhooks: the converted object keeps all metadata of the original except labels and
 * annotations.
 */
function withIdentity(answer: JsonObject, object: JsonObject, to: string): JsonObject {
  const { labels: _labels, annotations: _annotations, ...own } = objectAt(object, "metadata");
  const { labels, annotations } = objectAt(answer, "metadata");
  return {
    ...answer,
    kind: object["kind"],
    apiVersion: to,
    metadata: {
      ...own,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
  };
}

function failed(object: JsonObject, to: string): StatusError {
  const from = String(object["apiVersion"]);
  return new StatusError("InternalError", `the conversion from ${from} to ${to} returned no object`);
}
