/** Reads the current agreement on a resource, and watches it while the resource is migrated. */
import { handlerSource, type KeySource } from "../../controller-runtime/controller.ts";
import type { Log } from "../../../base/log.ts";
import { messageOf } from "../../../base/within.ts";
import type { Client } from "../../../client/client.ts";
import type { Informer } from "../../../client/informer.ts";
import { isReason } from "../../../meta/status-error.ts";
import { STORAGE_VERSION_TYPE, type StorageVersionObject } from "../objects.ts";
import { agreedVersion, type AgreedVersion } from "./agreed-version.ts";
import { HEARTBEAT_MS, REQUEST_TIMEOUT_MS } from "./migration-limits.ts";

export type Agreement =
  | { readonly kind: "agreed"; readonly agreed: AgreedVersion }
  | { readonly kind: "open"; readonly object: StorageVersionObject }
  /** There is no StorageVersion object of the resource, or StorageVersions are not served. */
  | { readonly kind: "absent" };

export async function readAgreement(client: Client, name: string, signal: AbortSignal): Promise<Agreement> {
  try {
    const object = await client
      .resource<StorageVersionObject>(STORAGE_VERSION_TYPE)
      .get({ name }, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
    const agreed = agreedVersion(object);
    return agreed === undefined ? { kind: "open", object } : { kind: "agreed", agreed };
  } catch (thrown) {
    if (isReason(thrown, "NotFound")) return { kind: "absent" };
    throw thrown;
  }
}

/** The agreement under which a running migration works. */
interface WatchedAgreement {
  readonly lost: AbortSignal;
  /** Called if the object has changed without an end of the agreement. Older events are ignored from then on. */
  renew(agreed: AgreedVersion): void;
  end(): void;
}

export class AgreementWatch {
  readonly #client: Client;
  readonly #log: Log;
  readonly #running = new Map<string, { agreed: AgreedVersion; readonly lost: AbortController }>();

  constructor(options: { readonly client: Client; readonly log: Log }) {
    this.#client = options.client;
    this.#log = options.log;
  }

  /** Starts to watch the agreement of a migration. At most one migration of a resource may run at a time. */
  begin(name: string, agreed: AgreedVersion): WatchedAgreement {
    const running = { agreed, lost: new AbortController() };
    this.#running.set(name, running);
    return {
      lost: running.lost.signal,
      renew: (renewed) => {
        running.agreed = renewed;
      },
      end: () => {
        if (this.#running.get(name) === running) this.#running.delete(name);
      },
    };
  }

  informer(): Informer<StorageVersionObject> {
    return this.#client.informer<StorageVersionObject>(STORAGE_VERSION_TYPE, {
      resyncMs: HEARTBEAT_MS,
      onError: (thrown) => this.#log.warn("storage version watch failed", { error: messageOf(thrown) }),
    });
  }

  /**
   * A key source that aborts migrations whose agreement has ended, and calls `onChange` with the name of each changed
   * object.
   */
  source(
    informer: Informer<StorageVersionObject>,
    onChange: (name: string, enqueue: (key: string) => void) => void,
  ): KeySource {
    return handlerSource(informer, (enqueue) => {
      const tell = (object: StorageVersionObject): void => {
        this.#observe(object);
        onChange(object.metadata?.name ?? "", enqueue);
      };
      const onDelete = (object: StorageVersionObject): void => {
        const name = object.metadata?.name ?? "";
        this.#running.get(name)?.lost.abort();
        onChange(name, enqueue);
      };
      return { onAdd: tell, onUpdate: tell, onDelete };
    });
  }

  #observe(object: StorageVersionObject): void {
    const running = this.#running.get(object.metadata?.name ?? "");
    // Watch events arrive later than responses, so an event that is older than the known agreement is ignored.
    const isNews = isNewer(object.metadata?.resourceVersion ?? "", running?.agreed.resourceVersion ?? "") ?? true;
    if (running === undefined || !isNews) return;
    if (agreedVersion(object)?.version !== running.agreed.version) running.lost.abort();
  }
}

/** Compares two resourceVersions; undefined if one of them is not a number. */
export function isNewer(resourceVersion: string, than: string): boolean | undefined {
  if (!isNumber(resourceVersion) || !isNumber(than)) return undefined;
  return BigInt(resourceVersion) > BigInt(than);
}

function isNumber(text: string): boolean {
  return /^[0-9]{1,20}$/.test(text);
}
