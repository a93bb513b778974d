/** `evenkeel inspect`: reports what an upgrade would break, from the stored data or the API of the user's cluster. */
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from "node:fs";
import { Command } from "commander";
import { OptionError } from "../../base/option-error.ts";
import { printable } from "../../base/printable.ts";
import { encryptionFile } from "../../server/encryption.ts";
import { createNodeEnv } from "../../server/env-node.ts";
import type { Env } from "../../server/env.ts";
import { EXIT_NO_RESULT } from "../upgrade/finding.ts";
import type { DecryptionOptions } from "../upgrade/inspect/collect/encrypted-values.ts";
import { inspectStoredData, type InspectOptions } from "../upgrade/inspect/inspect-stored-data.ts";
import type { Inspection } from "../upgrade/inspect/inspection.ts";
import { exitCodeOf, withoutIgnored } from "../upgrade/report/failing.ts";
import { inspectionHtml } from "../upgrade/report/inspection-html.ts";
import { inspectionJson } from "../upgrade/report/inspection-json.ts";
import { inspectionText } from "../upgrade/report/inspection-text.ts";
import { inStableOrder } from "../upgrade/report/stable-order.ts";
import { StoredDataError, type ReadProgress } from "../upgrade/stored-data.ts";
import { CommandFailure } from "./failure.ts";
import { noteUnmatchedIds } from "./finding-flags.ts";
import { inspectApiOf } from "./inspect-api.ts";
import { dataSourceOf, requireNewerTargets, withInspectFlags, type InspectFlags } from "./inspect-flags.ts";
import { nothingFound, openSource } from "./inspect-source.ts";
import { ProgressLine } from "./progress-line.ts";
import { readBoundedFile } from "./read-file.ts";
import { rejectOverwrite } from "./reject-overwrite.ts";

const INTERRUPTED = 130;
const ENCRYPTION_FILE_BYTES_MAX = 1024 * 1024;
const EXAMPLES = `
Exit code 0: no finding of at least the severity of --fail-on; 1: otherwise; 2: the data cannot be inspected.

Examples:
  $ evenkeel inspect --etcd-snapshot backup.db --to 1.36
  $ evenkeel inspect --etcd-snapshot /var/lib/rancher/k3s/server/db/state.db
  $ evenkeel inspect --etcd-servers https://127.0.0.1:2379 --etcd-cafile ca.crt --etcd-certfile client.crt --etcd-keyfile client.key
  $ evenkeel inspect --kubeconfig ~/.kube/config --to 1.35,1.36 --html report.html
`;

export function inspectCommand(version: string): Command {
  return withInspectFlags(
    new Command("inspect")
      .summary("Report what an upgrade of a cluster would break")
      .description(
        "Read the data of a cluster, from an etcd snapshot, a live etcd, the database of k3s or the API, and report what " +
          "must be fixed before an upgrade. The cluster is not changed, and values of Secrets never appear in the report.",
      )
      .addHelpText("after", EXAMPLES),
  ).action((flags: InspectFlags) => inspect(flags, version));
}

async function inspect(flags: InspectFlags, version: string): Promise<void> {
  const source = dataSourceOf(flags);
  const { html, etcdSnapshot, kubeconfig, encryptionProviderConfig } = flags;
  if (html !== undefined) rejectOverwrite("--html", html, [etcdSnapshot, kubeconfig, encryptionProviderConfig]);
  using page = html === undefined ? undefined : new PageFile(html);
  const env = createNodeEnv({ logLevel: "error", write: () => {} });
  const inspection = await untilInterrupted((signal) => {
    const progress = new ProgressLine(process.stderr);
    const watched = { signal, onProgress: (done: ReadProgress, what: string) => progress.show(done, what) };
    const work = source === "kubeconfig" ? inspectApiOf(flags, watched, env) : inspectValues(flags, watched, env);
    return work.finally(() => progress.clear());
  });
  requireUpgrade(inspection);
  requireNewerTargets(flags, inspection.from.release);
  report(flags, inStableOrder(inspection), { version, page });
}

/** Fails if no release was checked, because a report without errors would look like permission to upgrade. */
function requireUpgrade({ from: { release, candidates, atLeast }, hops }: Inspection): void {
  if (hops.length > 0 || release !== undefined) return;
  const known =
    candidates.length > 0
      ? `: it is ${candidates.join(" or ")}`
      : atLeast === undefined
        ? ""
        : `: it is ${atLeast} or newer`;
  throw new CommandFailure(
    `the data does not show which release the cluster runs${known}; give --from, or --to with the target`,
    EXIT_NO_RESULT,
  );
}

interface Output {
  readonly version: string;
  readonly page: PageFile | undefined;
}

function report(flags: InspectFlags, complete: Inspection, { version, page }: Output): void {
  const { ignore = [], output, failOn, unreadable = false, details = false } = flags;
  const findings = withoutIgnored(complete.findings, ignore);
  noteUnmatchedIds(complete.findings, ignore);
  const inspection = { ...complete, findings };
  const now = new Date().toISOString();
  page?.write(inspectionHtml(inspection, { ignored: ignore, writtenBy: `evenkeel ${version}, ${now}` }));
  const isColored = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
  process.stdout.write(
    output === "json"
      ? inspectionJson(inspection, ignore)
      : inspectionText(inspection, {
          width: process.stdout.columns,
          color: isColored,
          listsUnreadable: unreadable,
          isDetailed: details,
          ignored: complete.findings.length - findings.length,
        }),
  );
  process.exitCode = exitCodeOf(findings, failOn);
}

interface Watched {
  readonly signal: AbortSignal;
  /** `what` names the work, for example "reading". */
  readonly onProgress: (progress: ReadProgress, what: string) => void;
}

async function inspectValues(flags: InspectFlags, { signal, onProgress }: Watched, env: Env): Promise<Inspection> {
  const options = optionsOf(flags, env);
  const data = await openSource(flags, {
    signal,
    onProgress: (progress) => onProgress(progress, "verified"),
    clock: env.clock,
  });
  try {
    const request = { signal, onProgress: (progress: ReadProgress) => onProgress(progress, "read") };
    const inspection = await inspectStoredData(data, { ...request, ...options });
    if (inspection.read.keys === 0) throw await nothingFound(data, flags.etcdPrefix, request);
    return inspection;
  } finally {
    await data.close();
  }
}

function optionsOf(flags: InspectFlags, env: Env): Omit<InspectOptions, "signal" | "onProgress"> {
  const { from, to = [], etcdPrefix } = flags;
  return { prefix: `${etcdPrefix}/`, to, encryption: decryptionOf(flags, env), ...(from && { from }) };
}

function decryptionOf({ encryptionProviderConfig: file }: InspectFlags, env: Env): DecryptionOptions | undefined {
  if (file === undefined) return undefined;
  const what = "encryption configuration (--encryption-provider-config)";
  const { clock, random, openKmsPlugin } = env;
  const { initial } = encryptionFile({ read: () => readBoundedFile(file, what, ENCRYPTION_FILE_BYTES_MAX) })!;
  return {
    config: initial.config,
    clock,
    random,
    openPlugin: (address, onCall) => openKmsPlugin!(address, onCall),
  };
}

/**
 * Runs the work until it ends, or until the user interrupts it. Every failure becomes one sentence with the exit code
 * for no result.
 */
async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopped = new AbortController();
  const interrupt = (): void => stopped.abort(new CommandFailure("interrupted", INTERRUPTED));
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  try {
    return await work(stopped.signal);
  } catch (thrown) {
    throw stopped.signal.aborted ? stopped.signal.reason : withoutResult(thrown);
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}

function withoutResult(thrown: unknown): unknown {
  const isExpected =
    thrown instanceof StoredDataError || thrown instanceof OptionError || thrown instanceof CommandFailure;
  return isExpected ? new CommandFailure(printable(thrown.message), EXIT_NO_RESULT) : thrown;
}

/** The file of --html. It is opened before minutes of work, and removed if they end without a report. */
class PageFile implements Disposable {
  readonly #file: string;
  readonly #isNew: boolean;
  #isWritten = false;

  constructor(file: string) {
    this.#file = file;
    this.#isNew = !existsSync(file);
    this.#attempt(() => closeSync(openSync(file, "a")));
  }

  write(html: string): void {
    this.#attempt(() => writeFileSync(this.#file, html));
    this.#isWritten = true;
  }

  [Symbol.dispose](): void {
    if (this.#isNew && !this.#isWritten) rmSync(this.#file, { force: true });
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      throw new CommandFailure(`${this.#file} cannot be written: ${reason}`, EXIT_NO_RESULT);
    }
  }
}
