/** Converts the objects of a write to the API versions that webhooks and policies select. */
import type { Attributes, ServedVersion } from "../admission.ts";
import { messageOf } from "../../../base/within.ts";
import { jsonEquals, type JsonObject } from "../../../meta/json.ts";
import type { ConvertedWrite } from "../expressions/activation.ts";
import { requestedVersion } from "../matching/rules.ts";
import { internalError } from "./webhook-errors.ts";

export interface VersionedWrite extends ConvertedWrite {
  /** The objects as JSON texts; "null" for an absent object. */
  readonly texts: () => { readonly object: string; readonly existing: string };
}

/** Converts the write to each version at most once. For plugins that do not change the object. */
export function versionsOf(attributes: Attributes): (version: ServedVersion) => Promise<VersionedWrite> {
  const made = new Map<string, Promise<VersionedWrite>>();
  return (version) => {
    const key = keyOf(version);
    let write = made.get(key);
    if (write === undefined) made.set(key, (write = convertWrite(attributes, version)));
    return write;
  };
}

/** A write whose object webhooks or policies change one after the other, each in the API version that it selects. */
export class ChangingWrite {
  readonly #attributes: Attributes;
  readonly #requested: ServedVersion;
  #current: VersionedWrite;
  #isPatched = false;

  constructor(attributes: Attributes) {
    const version = requestedVersion(attributes);
    this.#attributes = attributes;
    this.#requested = version;
    this.#current = versionedWrite(version, attributes.object, attributes.existing);
  }

  /** The attributes of the write with the current object, which rules and selectors are evaluated against. */
  get attributes(): Attributes {
    return { ...this.#attributes, object: this.#current.object };
  }

  async inVersion(version: ServedVersion): Promise<VersionedWrite> {
    if (isSameKind(version, this.#current.version)) return this.#current;
    try {
      const object = await this.#inRequested();
      return (this.#current = await convertWrite({ ...this.#attributes, object }, version));
    } catch (thrown) {
      // As kubernetes: the error is wrapped a second time.
      throw internalError(messageOf(thrown), thrown);
    }
  }

  /** Replaces the current object. The new object must be in the version of the last `inVersion` call. */
  replace(object: JsonObject): void {
    this.#isPatched = true;
    this.#current = versionedWrite(this.#current.version, object, this.#current.existing);
  }

  /** The final object in the version of the request; undefined if the object has not changed. */
  async result(): Promise<JsonObject | undefined> {
    if (!this.#isPatched) return undefined;
    const object = await this.#inRequested();
    return jsonEquals(object, this.#attributes.object) ? undefined : object;
  }

  async #inRequested(): Promise<JsonObject | undefined> {
    const { version, object } = this.#current;
    if (object === undefined || isSameKind(version, this.#requested)) return object;
    return this.#isPatched ? this.#attributes.versions.convert(object, this.#requested) : this.#attributes.object;
  }
}

async function convertWrite(attributes: Attributes, version: ServedVersion): Promise<VersionedWrite> {
  const { versions, object, existing } = attributes;
  if (isSameKind(version, requestedVersion(attributes))) return versionedWrite(version, object, existing);
  const convert = async (each: JsonObject | undefined): Promise<JsonObject | undefined> =>
    each === undefined ? undefined : versions.convert(each, version);
  try {
    return versionedWrite(version, await convert(object), await convert(existing));
  } catch (thrown) {
    throw internalError(messageOf(thrown), thrown);
  }
}

function versionedWrite(
  version: ServedVersion,
  object: JsonObject | undefined,
  existing: JsonObject | undefined,
): VersionedWrite {
  let texts: { readonly object: string; readonly existing: string } | undefined;
  const make = (): { readonly object: string; readonly existing: string } => ({
    object: JSON.stringify(object ?? null),
    existing: JSON.stringify(existing ?? null),
  });
  return { version, object, existing, texts: () => (texts ??= make()) };
}

function isSameKind(left: ServedVersion, right: ServedVersion): boolean {
  return keyOf(left) === keyOf(right);
}

function keyOf({ kind }: ServedVersion): string {
  return `${kind.group}/${kind.version} ${kind.kind}`;
}
