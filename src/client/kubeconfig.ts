/** Reads kubeconfig files, JSON or YAML, as kubectl does: the server's URL and CA, and the user's credentials. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { load } from "js-yaml";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../meta/json.ts";

/** A kubeconfig that cannot be used; the message is one sentence that names the file. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

export interface KubeconfigConnection {
  readonly url: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
  /** The expected name in the server's certificate, if it is not the host of the URL. */
  readonly serverName?: string;
}

/** The parts of a connection that the caller has from elsewhere, so that the kubeconfig need not have usable ones. */
interface GivenParts {
  readonly hasToken?: boolean;
  readonly hasCa?: boolean;
}

/** If several files set a value, the first file wins, as in kubectl. */
export function readKubeconfigs(
  files: readonly string[],
  context?: string,
  { hasToken = false, hasCa = false }: GivenParts = {},
): KubeconfigConnection {
  const configs = files.map((file) => ({ file, config: parse(file, readFile(file, "kubeconfig")) }));
  const shown = files.join(", ");
  const name = context ?? configs.map(({ config }) => stringAt(config, "current-context")).find((text) => text !== "");
  if (name === undefined) throw new KubeconfigError(`${shown} has no current-context: choose a context with --context`);
  const chosen = find(configs, "context", name);
  if (chosen === undefined) throw new KubeconfigError(`${shown} has no context ${JSON.stringify(name)}`);
  const clusterName = stringAt(chosen.entry, "cluster");
  const cluster = find(configs, "cluster", clusterName);
  if (cluster === undefined) throw new KubeconfigError(`${shown} has no cluster ${JSON.stringify(clusterName)}`);
  const user = hasToken ? undefined : find(configs, "user", stringAt(chosen.entry, "user"));
  return { ...clusterOf(cluster, hasCa), ...(user === undefined ? {} : userOf(user)) };
}

interface Found {
  readonly file: string;
  readonly entry: JsonObject;
}

interface Parsed {
  readonly file: string;
  readonly config: JsonObject;
}

function parse(file: string, text: string): JsonObject {
  const value: unknown = attempt(() => load(text), `the kubeconfig ${file} is not YAML`);
  if (!isJsonObject(value)) throw new KubeconfigError(`${file} is not a kubeconfig`);
  return value;
}

function find(configs: readonly Parsed[], what: "context" | "cluster" | "user", name: string): Found | undefined {
  for (const { file, config } of configs) {
    const entries = config[`${what}s`];
    const list: unknown[] = Array.isArray(entries) ? entries : [];
    const named = list.find((candidate) => isJsonObject(candidate) && candidate["name"] === name);
    if (isJsonObject(named)) return { file, entry: objectAt(named, what) };
  }
  return undefined;
}

function clusterOf(found: Found, hasCa: boolean): KubeconfigConnection {
  const { file, entry } = found;
  const url = stringAt(entry, "server");
  if (url === "") throw new KubeconfigError(`the cluster in ${file} has no server`);
  if (entry["insecure-skip-tls-verify"] === true && !hasCa)
    throw new KubeconfigError(
      `${file} sets insecure-skip-tls-verify, which is not supported: give the server's CA with --ca-file`,
    );
  const ca = hasCa ? undefined : dataOrFile(found, "certificate-authority");
  const serverName = stringAt(entry, "tls-server-name");
  return { url, ...(ca === undefined ? {} : { ca }), ...(serverName === "" ? {} : { serverName }) };
}

function userOf(found: Found): Pick<KubeconfigConnection, "cert" | "key" | "token"> {
  const { file, entry } = found;
  const cert = dataOrFile(found, "client-certificate");
  const key = dataOrFile(found, "client-key");
  if (cert !== undefined && key !== undefined) return { cert, key };
  const tokenFile = stringAt(entry, "tokenFile");
  const token = tokenFile === "" ? stringAt(entry, "token") : readFile(beside(file, tokenFile), "token file").trim();
  if (token !== "") return { token };
  if (isJsonObject(entry["exec"]) || isJsonObject(entry["auth-provider"]))
    throw new KubeconfigError(
      `the user in ${file} logs in with an exec or auth-provider plugin, which is not supported: give a token with --token`,
    );
  return {};
}

/** "certificate-authority-data" is base64, "certificate-authority" a path relative to the kubeconfig. */
function dataOrFile({ file, entry }: Found, name: string): string | undefined {
  const data = stringAt(entry, `${name}-data`);
  if (data !== "") return Buffer.from(data, "base64").toString("utf8");
  const path = stringAt(entry, name);
  return path === "" ? undefined : readFile(beside(file, path), name);
}

function beside(file: string, path: string): string {
  return resolve(dirname(file), path);
}

function readFile(file: string, what: string): string {
  return attempt(() => readFileSync(file, "utf8"), `the ${what} ${file} cannot be read`);
}

function attempt<T>(work: () => T, sentence: string): T {
  try {
    return work();
  } catch (thrown) {
    const [reason] = (thrown instanceof Error ? thrown.message : String(thrown)).split("\n", 1);
    throw new KubeconfigError(`${sentence}: ${reason}`, { cause: thrown });
  }
}
