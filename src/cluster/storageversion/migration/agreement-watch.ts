/** The present agreement on a resource, by asking and by watching. */
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
  /** Nobody stores the resource under an agreement, or nobody serves StorageVersions. */
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

/** What a migration goes by, for as long as it runs. */
interface WatchedAgreement {
  readonly lost: AbortSignal;
  /** The object changed and still says the same: what it said before does not count any more. */
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

  /** One migration of a resource at a time. */
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
      onError: (thrown) => this.#log.warn("storage versions could not be followed", { error: messageOf(thrown) }),
    });
  }

  /** Ends migrations whose agreement is gone; `onChange` is told the names of all objects. */
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
    // News travel slower than answers: what is older than the agreement does not speak against it.
    const isNews = isNewer(object.metadata?.resourceVersion ?? "", running?.agreed.resourceVersion ?? "") ?? true;
    if (running === undefined || !isNews) return;
    if (agreedVersion(object)?.version !== running.agreed.version) running.lost.abort();
  }
}

/** Undefined when one of them is no number. */
export function isNewer(resourceVersion: string, than: string): boolean | undefined {
  if (!isNumber(resourceVersion) || !isNumber(than)) return undefined;
  return BigInt(resourceVersion) > BigInt(than);
}

function isNumber(text: string): boolean {
  return /^[0-9]{1,20}$/.test(text);
}
