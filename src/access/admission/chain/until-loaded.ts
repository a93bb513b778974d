/**
 * Delays writes until all webhook configurations and policies are loaded, and rejects them while one of these cannot be
 * decoded, because it could deny them.
 */
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { isExemptFromWebhooks } from "../matching/exemptions.ts";
import { admissionForbidden } from "../plugins/plugin-errors.ts";
import type { Clock } from "../../../base/clock.ts";
import { within } from "../../../base/within.ts";
import type { StatusError } from "../../../meta/status-error.ts";
import { whenReset, type ObjectTable } from "../../../meta/object-table.ts";

interface UntilLoaded {
  readonly plugin: AdmissionPlugin;
  /**
   * Returns a wrapper of the table. Writes wait until every wrapper has been reset once, that is, until its objects are
   * loaded. They are then rejected with any of the errors in `unreadable`.
   */
  awaited(table: ObjectTable, unreadable: ReadonlyMap<string, StatusError>): ObjectTable;
}

/** How long a write waits before it is rejected. As kubernetes. */
const TIMEOUT_MS = 10_000;

export function createUntilLoaded(clock: Clock): UntilLoaded {
  const due = new Set<ObjectTable>();
  const loaded = Promise.withResolvers<void>();
  const unreadables: ReadonlyMap<string, StatusError>[] = [];
  const rejectUnlessReadable = (attributes: Attributes): undefined => {
    const [error] = unreadables.flatMap((errors) => errors.values().take(1).toArray());
    // The server must be able to start and to keep its leases, so that an administrator can delete the object.
    const isExempt = isExemptFromWebhooks(attributes) || isServer(attributes);
    if (error === undefined || isExempt) return undefined;
    throw error;
  };
  const wait = async (attributes: Attributes): Promise<undefined> => {
    if (due.size === 0) return rejectUnlessReadable(attributes);
    try {
      await within(clock, TIMEOUT_MS, () => loaded.promise, attributes.signal);
    } catch {
      throw admissionForbidden(attributes, "not yet ready to handle request");
    }
    return rejectUnlessReadable(attributes);
  };
  return {
    plugin: {
      name: "",
      handles: () => due.size > 0 || unreadables.some(({ size }) => size > 0),
      handlesChange: true,
      mutate: wait,
      validate: wait,
    },
    awaited(table, unreadable) {
      due.add(table);
      unreadables.push(unreadable);
      return whenReset(table, () => {
        due.delete(table);
        if (due.size === 0) loaded.resolve();
      });
    },
  };
}

/** As `auth/authenticators/loopback.ts` authenticates it. */
function isServer({ user: { name, groups } }: Attributes): boolean {
  return name === "system:apiserver" && groups.includes("system:masters");
}
