/**
 * Serves /evenkeel/v1/stored-versions and /evenkeel/v1/rollback-check, which read the whole store. They stream lines of
 * JSON, first the progress of the walk and then the report, so that the client sees that the server is still working on
 * it.
 *
 * The only state is whether a walk is running: a server runs one walk at a time.
 */
import type { Catalog } from "../../objects/catalog/catalog.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import { NO_BODY, type ApiResponse, type StreamSink } from "../../serving/http/message.ts";
import { rollbackCheck } from "./rollback-check.ts";
import { storedVersions } from "./stored-versions.ts";
import type { WalkOptions, WalkProgress } from "./walk-store.ts";
import { badRequest, methodNotAllowed, tooManyRequests } from "../../meta/status-error.ts";
import { StorageError, type Kv } from "../../storage/kv.ts";
import { resolveRelease } from "../../objects/catalog/release-options.ts";
import type { BaseEnv } from "../../base/env.ts";
import { OptionError } from "../../base/option-error.ts";
import { UNCACHED } from "../../serving/http/respond.ts";

export const INSPECT_PATHS: readonly string[] = ["/evenkeel/v1/rollback-check", "/evenkeel/v1/stored-versions"];

interface InspectParts {
  readonly env: Pick<BaseEnv, "clock" | "log">;
  readonly config: { readonly storageRoot: string; readonly strictRelease: boolean };
  /** That of this server. */
  readonly catalog: Pick<Catalog, "release" | "emulation">;
  readonly kv: Pick<Kv, "range">;
}

type Walk = (options: WalkOptions) => Promise<object>;

const HEADERS = { "content-type": "application/x-ndjson", "cache-control": UNCACHED } as const;
const PROGRESS_INTERVAL_MS = 250;
/** A client that has this much unread data receives no further progress lines. */
const UNREAD_BYTES_MAX = 64 * 1024;
const RETRY_AFTER_SECONDS = 5;

/** Undefined for other paths. */
export function inspectEndpoints(parts: InspectParts): (request: WithInfo) => ApiResponse | undefined {
  let isWalking = false;
  return (request) => {
    const { info } = request;
    const [, version, name, ...rest] = info.segments;
    if (version !== "v1" || (name !== "stored-versions" && name !== "rollback-check") || rest.length > 0)
      return undefined;
    if (info.verb !== "get" && info.verb !== "head") throw methodNotAllowed();
    const walk = name === "stored-versions" ? storedVersionsWalk(parts) : rollbackWalk(parts, request);
    if (info.verb === "head") return { status: 200, headers: { ...HEADERS }, body: NO_BODY };
    if (isWalking)
      throw tooManyRequests("this server is already reading its whole store for another request", RETRY_AFTER_SECONDS);
    isWalking = true;
    const open = (sink: StreamSink): void => {
      void runWalk(parts, walk, sink).finally(() => (isWalking = false));
    };
    return { status: 200, headers: { ...HEADERS }, body: { kind: "stream", open } };
  };
}

function storedVersionsWalk({ catalog }: InspectParts): Walk {
  return (options) => storedVersions({ ...options, catalog });
}

function rollbackWalk({ config, catalog }: InspectParts, request: WithInfo): Walk {
  const target = targetCatalog(config, request);
  return (options) => rollbackCheck({ ...options, release: catalog.release.name, target });
}

/** The catalog of the release to check, with the flags that its server would have. */
function targetCatalog({ strictRelease }: InspectParts["config"], { query }: WithInfo): Catalog {
  const to = query.get("to");
  if (to === undefined || to === "") throw badRequest("to must be a release, such as to=1.33");
  try {
    return resolveRelease({
      release: to,
      strictRelease,
      runtimeConfig: query.all("runtimeConfig"),
      featureGates: query.all("featureGates"),
      emulatedVersion: query.all("emulatedVersion"),
    }).catalog;
  } catch (thrown) {
    if (thrown instanceof OptionError) throw badRequest(thrown.message);
    throw thrown;
  }
}

/** Walks the store and writes the result. Never rejects: a failure is reported in the last line. */
async function runWalk({ env, config, kv }: InspectParts, walk: Walk, sink: StreamSink): Promise<void> {
  const { clock, log } = env;
  const gone = new AbortController();
  sink.onClose(() => gone.abort());
  let reportedAt = -Infinity;
  const onProgress = (progress: WalkProgress): void => {
    const now = clock.monotonic();
    if (now - reportedAt < PROGRESS_INTERVAL_MS || sink.bufferedBytes() > UNREAD_BYTES_MAX) return;
    reportedAt = now;
    writeLine(sink, { kind: "progress", ...progress });
  };
  try {
    const { storageRoot } = config;
    const report = await walk({ kv, storageRoot, signal: gone.signal, onProgress });
    writeLine(sink, { kind: "result", report });
  } catch (thrown) {
    if (gone.signal.aborted) return;
    const isOutage = thrown instanceof StorageError;
    if (!isOutage) log.error("walking the store failed", { error: String(thrown) });
    const message = isOutage ? thrown.message : "the walk could not be completed";
    writeLine(sink, { kind: "error", message });
  }
  sink.end();
}

function writeLine(sink: StreamSink, line: object): void {
  sink.write({ bytes: Buffer.from(`${JSON.stringify(line)}\n`) });
}
