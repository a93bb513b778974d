/** Computes the fields that a write changes, in each API version in which a manager owns fields. */
import type { JsonObject } from "../../meta/json.ts";
import type { StructSchema } from "../schema.ts";
import type { FieldSet } from "./field-set.ts";
import { isUnfit, NEVER_TRACKED, resetSet, withoutManagedFields, type TrackedRequest } from "./tracking.ts";
import { changedFields, type ChangedFields } from "./typed-set.ts";

type ComparedWrite = Pick<
  TrackedRequest,
  "live" | "schema" | "apiVersion" | "resetFields" | "absentFields" | "inVersion"
> & { readonly next: JsonObject };

interface Compared {
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly schema: StructSchema;
}

interface VersionComparison extends ChangedFields {
  readonly schema: StructSchema;
}

export class VersionComparisons {
  readonly inRequestVersion: VersionComparison;
  readonly #update: ComparedWrite;
  readonly #reset: FieldSet;
  readonly #byVersion = new Map<string, VersionComparison | "unknown" | undefined>();

  constructor(update: ComparedWrite) {
    this.#update = update;
    this.#reset = resetSet(update);
    const { live, next, schema } = update;
    this.inRequestVersion = this.#compare({ before: live ?? {}, after: next, schema });
    this.#byVersion.set(update.apiVersion, this.inRequestVersion);
  }

  /** Whether the write changed no field that a manager can own. */
  get isEmpty(): boolean {
    const { changed, removed } = this.inRequestVersion;
    return changed.difference(NEVER_TRACKED).isEmpty && removed.difference(NEVER_TRACKED).isEmpty;
  }

  /**
   * The changes in that version. Undefined for a version that no longer exists, `unknown` if this server cannot tell.
   */
  of(apiVersion: string): VersionComparison | "unknown" | undefined {
    if (this.#byVersion.has(apiVersion)) return this.#byVersion.get(apiVersion);
    if (this.#update.inVersion === undefined) return "unknown";
    const comparison = this.#convertAndCompare(apiVersion, this.#update.inVersion);
    this.#byVersion.set(apiVersion, comparison);
    return comparison;
  }

  #convertAndCompare(
    apiVersion: string,
    inVersion: NonNullable<TrackedRequest["inVersion"]>,
  ): VersionComparison | "unknown" | undefined {
    const { live, next } = this.#update;
    const after = inVersion(withoutManagedFields(next), apiVersion);
    const before = inVersion(withoutManagedFields(live ?? {}), apiVersion);
    if (before === undefined || after === undefined) return undefined;
    if (before === "unknown" || after === "unknown") return "unknown";
    // DIFFERS: kubernetes then removes the entries of all managers.
    if (isUnfit(before) || isUnfit(after)) return undefined;
    return this.#compare({
      before: live === undefined ? {} : before.object,
      after: after.object,
      schema: after.schema,
    });
  }

  #compare({ before, after, schema }: Compared): VersionComparison {
    const absent = this.#update.absentFields ?? "zero";
    const { changed, removed } = changedFields(
      withoutManagedFields(before),
      withoutManagedFields(after),
      schema,
      absent,
    );
    return {
      changed: changed.recursiveDifference(this.#reset),
      removed: removed.recursiveDifference(this.#reset),
      schema,
    };
  }
}
