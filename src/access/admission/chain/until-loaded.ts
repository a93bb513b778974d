/**
 * Delays writes until all webhook configurations and policies are loaded, because one that is not loaded yet could deny
 * them.
 */
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { admissionForbidden } from "../plugins/plugin-errors.ts";
import type { Clock } from "../../../base/clock.ts";
import { within } from "../../../base/within.ts";
import { whenReset, type ObjectTable } from "../../../meta/object-table.ts";

interface UntilLoaded {
  readonly plugin: AdmissionPlugin;
  /**
   * Returns a wrapper of the table. Writes wait until every wrapper has been reset once, that is, until its objects are
   * loaded.
   */
  awaited(table: ObjectTable): ObjectTable;
}

/** How long a write waits before it is rejected. As kubernetes. */
const TIMEOUT_MS = 10_000;

export function createUntilLoaded(clock: Clock): UntilLoaded {
  const due = new Set<ObjectTable>();
  const loaded = Promise.withResolvers<void>();
  const wait = async (attributes: Attributes): Promise<undefined> => {
    if (due.size === 0) return undefined;
    try {
      await within(clock, TIMEOUT_MS, () => loaded.promise, attributes.signal);
    } catch {
      throw admissionForbidden(attributes, "not yet ready to handle request");
    }
    return undefined;
  };
  return {
    plugin: { name: "", handles: () => due.size > 0, handlesChange: true, mutate: wait, validate: wait },
    awaited(table) {
      due.add(table);
      return whenReset(table, () => {
        due.delete(table);
        if (due.size === 0) loaded.resolve();
      });
    },
  };
}
