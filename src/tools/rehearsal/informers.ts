/** Runs informers as external controllers do, and checks their content against the acknowledged writes. */
import type { Informer } from "../../client/informer.ts";
import { ledgerKeyText } from "./judge.ts";
import type { LedgerEntry, Ledger } from "./ledger.ts";
import type { Recorder } from "./recorder.ts";
import type { Session } from "./session.ts";
import { resourceTypeOf, type LoadTarget } from "./targets.ts";

interface InformerClientOptions {
  readonly session: Session;
  readonly target: LoadTarget;
  readonly version: string;
  readonly ledger: Ledger;
  readonly recorder: Recorder;
}

export class InformerClient {
  readonly #options: InformerClientOptions;
  readonly #informer: Informer;
  /** Entries that have been reported as wrong already, so that each is reported once. */
  readonly #reported = new Set<LedgerEntry>();

  constructor(options: InformerClientOptions) {
    const { session, target, version } = options;
    this.#options = options;
    this.#informer = session.client.informer(resourceTypeOf(target, version));
    this.#informer.addHandler({
      onDelete: ({ metadata = {} }) => {
        const { name = "", namespace = "" } = metadata;
        this.#deleted(options.ledger.find({ ...target, name, namespace }), metadata.uid);
      },
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  /** Checks that the informer contains every object that was acknowledged up to its revision. */
  check(): void {
    if (!this.#informer.hasSynced) return;
    const revision = Number(this.#informer.resourceVersion);
    for (const entry of this.#options.ledger.present(this.#options.target)) {
      if (entry.revision > revision || this.#reported.has(entry)) continue;
      const { name, namespace } = entry;
      if (this.#informer.get({ name, ...(namespace !== "" && { namespace }) }) !== undefined) continue;
      const said = `an informer at revision ${revision} does not contain ${ledgerKeyText(entry)}`;
      this.#wrong(entry, { kind: "missing-from-informer", said });
    }
  }

  #deleted(entry: LedgerEntry | undefined, uid: string | undefined): void {
    if (entry?.state !== "there" || entry.uid !== uid) return;
    this.#wrong(entry, { kind: "told-deleted", said: `an informer received the deletion of ${ledgerKeyText(entry)}` });
  }

  #wrong(
    entry: LedgerEntry,
    found: { readonly kind: "missing-from-informer" | "told-deleted"; readonly said: string },
  ): void {
    const { session, target, version, recorder } = this.#options;
    this.#reported.add(entry);
    const right = `${ledgerKeyText(entry)} was created at revision ${entry.revision}, and no client deleted it`;
    const request = `informer of ${[target.group, version, target.resource].filter((part) => part !== "").join("/")}`;
    recorder.wrong({ ...found, right }, { client: session.name, server: "", request });
  }
}
