/**
 * Sends linearizable requests to etcd, and compares each response with the history that this client has seen. A new
 * connection is compared before it is used, because etcd can be restored only while it is stopped; so no request ever
 * mixes two histories. It is also compared at an interval, for proxies in front of etcd that keep connections open.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import { StorageError, type KvEvent } from "../kv.ts";
import type { EtcdConnection, EtcdLog } from "./connection.ts";
import { isCompacted, toCommitError, toStorageError, unavailable } from "./errors.ts";
import { HISTORY_CHECK_INTERVAL_MS, HISTORY_CHECK_TIMEOUT_MS } from "./etcd-limits.ts";
import type { Channel, UnaryCall } from "../grpc/channel.ts";
import {
  decodeRange,
  decodeTxn,
  encodeRange,
  METHOD,
  type EtcdHeader,
  type RangeMessage,
  type RangeResponse,
  type TxnResponse,
} from "./messages.ts";
import { changeIsMissing, headerContradicts, isThisPut, SeenHistory } from "./seen-history.ts";

interface CheckedCallsOptions {
  readonly connection: () => Pick<EtcdConnection, "request">;
  readonly clock: Clock;
  readonly log: EtcdLog;
  /** Called synchronously, before any request reaches the new history. */
  readonly onChanged: (evidence: string) => void;
}

type Read = (message: RangeMessage) => Promise<RangeResponse>;

const NO_KEY: RangeMessage = { key: "!", rangeEnd: "!", countOnly: true };

export class CheckedCalls {
  readonly #options: CheckedCallsOptions;
  readonly #seen = new SeenHistory();
  readonly #stopped = new AbortController();

  constructor(options: CheckedCallsOptions) {
    this.#options = options;
  }

  /** Rejects if the history has changed since the request was sent, because its sender uses revisions from before. */
  async range(message: RangeMessage): Promise<RangeResponse> {
    const { mark } = this.#seen;
    const call = { method: METHOD.range, frame: encodeRange(message), isIdempotent: true };
    const response = decoded(await this.#options.connection().request(call), decodeRange);
    if (!this.#isOfSameHistory(mark, response.header))
      throw unavailable("the history of etcd has changed while the request was sent");
    return response;
  }

  /** Rejects as `undecided` if the history has changed since the transaction was sent. */
  async txn(frame: Buffer): Promise<TxnResponse> {
    const { mark } = this.#seen;
    const call = { method: METHOD.txn, frame, isIdempotent: false };
    const response = decoded(await this.#options.connection().request(call), decodeTxn, toCommitError);
    if (!this.#isOfSameHistory(mark, response.header))
      throw new StorageError("undecided", "the history of etcd has changed while the transaction was sent");
    return response;
  }

  /** Called with each change that a watch delivers or that this client commits. */
  sawChange(change: KvEvent | undefined): void {
    if (change !== undefined) this.#seen.sawChange(change);
  }

  /**
   * Compares the history behind a new connection with the one seen. Returns undefined if nothing has been seen yet, and
   * rejects if etcd does not respond, so that the connection is not used.
   */
  verify(channel: Channel): Promise<void> | undefined {
    if (this.#seen.isEmpty) return undefined;
    return this.#compare(async (message) => {
      const call: UnaryCall = { method: METHOD.range, frame: encodeRange(message) };
      return decodeRange(await channel.unary(call, HISTORY_CHECK_TIMEOUT_MS));
    });
  }

  /** Compares the history at an interval, until `stop` is called. */
  async run(): Promise<void> {
    const { clock, connection, log } = this.#options;
    const { signal } = this.#stopped;
    const read: Read = async (message) => {
      const call = { method: METHOD.range, frame: encodeRange(message), isIdempotent: true };
      return decoded(await connection().request(call), decodeRange);
    };
    while (await sleep(clock, HISTORY_CHECK_INTERVAL_MS, signal)) {
      if (this.#seen.isEmpty) continue;
      try {
        await this.#compare(read);
      } catch (thrown) {
        log("etcd history not compared", { problem: thrown instanceof Error ? thrown.message : String(thrown) });
      }
    }
  }

  stop(): void {
    this.#stopped.abort();
  }

  #isOfSameHistory({ generation, header }: SeenHistory["mark"], received: EtcdHeader): boolean {
    if (generation !== this.#seen.mark.generation) return false;
    const evidence = headerContradicts(header, received);
    if (evidence === undefined) this.#seen.sawHeader(received);
    else this.#changed(evidence, received);
    return evidence === undefined;
  }

  #changed(evidence: string, header: EtcdHeader): void {
    this.#seen.restart(header);
    this.#options.onChanged(evidence);
  }

  async #compare(read: Read): Promise<void> {
    const { mark, newest } = this.#seen;
    const { header, items } = await read(newest === undefined ? NO_KEY : { key: newest.key });
    const evidence =
      headerContradicts(mark.header, header) ??
      (newest === undefined || isThisPut(newest, items[0]) ? undefined : await missing(newest, read));
    if (mark.generation !== this.#seen.mark.generation) return;
    if (evidence === undefined) this.#seen.sawHeader(header);
    else this.#changed(evidence, header);
  }
}

/**
 * Reads the key of the change at the revision of the change. If that revision is compacted, the histories cannot be
 * compared. They then count as different: the watches of this client must start again in any case.
 */
async function missing(change: KvEvent, read: Read): Promise<string | undefined> {
  const { key, modRevision } = change;
  const at = async (revision: number): Promise<RangeResponse["items"][number] | undefined> =>
    (await read({ key, revision })).items[0];
  try {
    return changeIsMissing(change, {
      at: await at(modRevision),
      before: change.kind === "delete" ? await at(modRevision - 1) : undefined,
    });
  } catch (thrown) {
    const cause = thrown instanceof StorageError ? thrown.cause : thrown;
    if (!isCompacted(cause)) throw thrown;
    return `etcd has compacted revision ${modRevision}, the last one that this server saw`;
  }
}

function decoded<T>(response: Buffer, decode: (message: Buffer) => T, toError = toStorageError): T {
  try {
    return decode(response);
  } catch (thrown) {
    throw toError(thrown);
  }
}
