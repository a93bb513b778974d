/** Reads the cluster with which `evenkeel rehearse` is seeded: from a file with stored data, or through its API. */
import { createClient } from "../../client/client.ts";
import { KubeconfigError, readKubeconfigs } from "../../client/kubeconfig.ts";
import { createNodeTransport } from "../../client/node-transport.ts";
import { createNodeEnv } from "../../server/env-node.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { seedFromApi, SeedError } from "../rehearsal/seed-from-api.ts";
import { seedFromData } from "../rehearsal/seed-from-data.ts";
import type { Seed } from "../rehearsal/seed.ts";
import { openStoredDataFile } from "../upgrade/sources/open-file.ts";
import { StoredDataError } from "../upgrade/stored-data.ts";
import { CommandFailure } from "./failure.ts";
import { ProgressLine } from "./progress-line.ts";

interface SeedFlags {
  readonly from?: ReleaseName;
  readonly to: ReleaseName;
  readonly snapshot?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly real?: boolean;
}

const USAGE = 2;

/** Undefined if no flag names a cluster. */
export async function readSeed(flags: SeedFlags): Promise<Seed | undefined> {
  const seed = await read(flags);
  // The processes of --real have the default runtime config.
  return seed !== undefined && flags.real === true ? { ...seed, runtimeConfig: [] } : seed;
}

async function read(flags: SeedFlags): Promise<Seed | undefined> {
  const { snapshot, kubeconfig } = flags;
  if (snapshot !== undefined && kubeconfig !== undefined)
    throw new CommandFailure("--snapshot and --kubeconfig cannot be used together", USAGE);
  if (flags.context !== undefined && kubeconfig === undefined)
    throw new CommandFailure("--context: set --kubeconfig, too", USAGE);
  try {
    if (snapshot !== undefined) return await seedFromFile(snapshot, flags);
    return kubeconfig === undefined ? undefined : await seedFromCluster(kubeconfig, flags.context);
  } catch (thrown) {
    const isExplained =
      thrown instanceof StoredDataError || thrown instanceof KubeconfigError || thrown instanceof SeedError;
    if (isExplained) throw new CommandFailure(thrown.message, USAGE);
    throw thrown;
  }
}

async function seedFromFile(path: string, { from, to }: SeedFlags): Promise<Seed> {
  const progress = new ProgressLine(process.stderr);
  const walk = {
    signal: new AbortController().signal,
    onProgress: (passed: { readonly done: number; readonly total: number }) => progress.show(passed),
  };
  try {
    const data = await openStoredDataFile(path, walk);
    try {
      return await seedFromData(data, { ...walk, from, to });
    } finally {
      await data.close();
    }
  } finally {
    progress.clear();
  }
}

async function seedFromCluster(file: string, context: string | undefined): Promise<Seed> {
  const connection = readKubeconfigs([file], context);
  const { clock, random } = createNodeEnv({ logLevel: "error", write: () => {} });
  using transport = createNodeTransport(connection);
  const client = createClient({ transport, clock, random, userAgent: "evenkeel", defaults: { retriesMax: 3 } });
  return await seedFromApi(client, connection.url);
}
