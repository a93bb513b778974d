/** Sends a command's request to a running server: finds the server and the credentials, and explains failures. */
import { delimiter, join } from "node:path";
import { Option, type Command } from "commander";
import { printable } from "../../base/printable.ts";
import { KubeconfigError, readKubeconfigs, type KubeconfigConnection } from "../../client/kubeconfig.ts";
import { createNodeTransport } from "../../client/node-transport.ts";
import { readBody, TransportError, type ClientResponse } from "../../client/transport.ts";
import { parseJsonObject, stringAt, type JsonObject } from "../../meta/json.ts";
import { CommandFailure } from "./failure.ts";
import { readFile } from "./read-file.ts";

export interface ServerFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly server?: string;
  readonly token?: string;
  readonly caFile?: string;
  readonly dataDir?: string;
  readonly output: "table" | "json";
}

const DATA_DIR = ".evenkeel";
const TIMEOUT_MS = 10_000;
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;

export function withServerFlags(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "kubeconfig file (default: that of --data-dir, else $KUBECONFIG)")
    .option("--context <name>", "context of the kubeconfig; evenkeel up writes one for each server")
    .option("--server <url>", "URL of the server instead of the kubeconfig's, for example https://127.0.0.1:6443")
    .option("--token <token>", "bearer token, with --server or instead of the kubeconfig's user")
    .option("--ca-file <file>", "CA bundle that verifies the server's certificate, instead of the kubeconfig's")
    .option(
      "--data-dir <directory>",
      `data directory of \`evenkeel serve\` or \`evenkeel up\`, which contains a kubeconfig (default: $KUBECONFIG, else ${DATA_DIR})`,
    )
    .addOption(new Option("-o, --output <format>", "output format").choices(["table", "json"]).default("table"));
}

export async function requestJson(flags: ServerFlags, target: string, method: Method = "GET"): Promise<JsonObject> {
  const connection = connectionOf(flags);
  const requestOptions = { target, method, signal: AbortSignal.timeout(TIMEOUT_MS), timeoutMs: TIMEOUT_MS };
  const text = await requestServer(connection, requestOptions, ({ body }) => readText(body));
  const value = parseJsonObject(text);
  if (value === undefined) throw new CommandFailure(notEvenkeel(connection.url), 1);
  return value;
}

/** Returns the address of the server and the credentials, as the flags specify. */
export function connectionOf(flags: ServerFlags): KubeconfigConnection {
  return connectionFrom(flags, process.env["KUBECONFIG"]);
}

function connectionFrom(flags: ServerFlags, environment: string | undefined): KubeconfigConnection {
  const { kubeconfig, context, server, token, caFile } = flags;
  const given = {
    ...(server === undefined ? {} : { url: server }),
    ...(caFile === undefined ? {} : { ca: readFile(caFile, "CA") }),
  };
  if (server !== undefined && kubeconfig === undefined && context === undefined)
    return { url: server, ...given, ...(token === undefined ? {} : { token }) };
  const { cert, key, ...read } = fromKubeconfigs(kubeconfigsOf(flags, environment), flags);
  // A server evaluates a certificate before a token, so the certificate is dropped if a token is given.
  if (token !== undefined) return { ...read, ...given, token };
  return { ...read, ...given, ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) };
}

/** Returns the kubeconfig files to read. Flags have precedence over the environment. */
function kubeconfigsOf({ kubeconfig, dataDir }: ServerFlags, environment = ""): string[] {
  if (kubeconfig !== undefined) return [kubeconfig];
  const listed = environment.split(delimiter).filter((file) => file !== "");
  return dataDir === undefined && listed.length > 0 ? listed : [join(dataDir ?? DATA_DIR, "kubeconfig")];
}

function fromKubeconfigs(
  files: readonly string[],
  { context, token, caFile }: Pick<ServerFlags, "context" | "token" | "caFile">,
): KubeconfigConnection {
  try {
    return readKubeconfigs(files, context, { hasToken: token !== undefined, hasCa: caFile !== undefined });
  } catch (thrown) {
    if (thrown instanceof KubeconfigError) throw new CommandFailure(thrown.message, 1);
    throw thrown;
  }
}

type Method = "GET" | "POST";

interface ServerRequest {
  readonly target: string;
  /** Default: GET. */
  readonly method?: Method;
  /** Aborts when the timeout of the request has passed. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Sends the request and passes a response with status 200 to `read`. Everything else throws a CommandFailure. */
export async function requestServer<T>(
  connection: KubeconfigConnection,
  { target, method = "GET", signal, timeoutMs }: ServerRequest,
  read: (response: ClientResponse) => Promise<T>,
): Promise<T> {
  const { url } = connection;
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new CommandFailure(`${JSON.stringify(url)} is not a server URL such as https://127.0.0.1:6443`, 2);
  try {
    using transport = createNodeTransport(connection);
    const headers = { accept: "application/json", "user-agent": "evenkeel" };
    const response = await transport.send({ method, target, headers, signal });
    if (response.status === 200) return await read(response);
    throw new CommandFailure(failureMessage(url, response.status, await readText(response.body)), 1);
  } catch (thrown) {
    if (thrown instanceof CommandFailure) throw thrown;
    if (thrown instanceof TransportError) throw new CommandFailure(unreachableMessage(url, thrown, timeoutMs), 1);
    const { message } = thrown as Error;
    throw new CommandFailure(`the certificates for ${url} cannot be used: ${message}`, 1);
  }
}

async function readText(body: ClientResponse["body"]): Promise<string> {
  return Buffer.from(await readBody(body, RESPONSE_BYTES_MAX)).toString("utf8");
}

export function unreachableMessage(url: string, error: TransportError, timeoutMs: number): string {
  if (error.failure === "aborted") return `${url} did not respond within ${timeoutMs / 1000} s`;
  const code = codeOf(error.cause);
  if (/CERT|SIGNATURE|ISSUER/.test(code))
    return `the certificate of ${url} is not trusted (${error.message}): set its CA with --ca-file`;
  if (code.includes("ALERT")) return `${url} rejected the client certificate: ${error.message}`;
  return `${url} cannot be reached: ${error.message}`;
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
}

function failureMessage(url: string, status: number, text: string): string {
  const message = printable(stringAt(parseJsonObject(text) ?? {}, "message"));
  if (status === 401) return `${url} could not authenticate the request: set --token or another --kubeconfig`;
  if (status === 403) return `${url} denied the request: ${message}`;
  // A server that serves the path includes a message in its 404; other servers do not.
  if (status === 404 && message === "") return notEvenkeel(url);
  return `${url} responded with ${status}${message === "" ? "" : `: ${message}`}`;
}

function notEvenkeel(url: string): string {
  return `${url} is not an Evenkeel server, or is older than this command`;
}
