/** The flags that name another API server to compare with. */
import { existsSync, readFileSync } from "node:fs";
import type { Endpoint } from "./client/protocol.ts";
import { UsageError } from "./usage-error.ts";

export interface AgainstOptions {
  readonly url: string;
  readonly endpoint: Endpoint;
  readonly token: string;
  /** Empty if the server does not run on this machine. */
  readonly pids: readonly number[];
}

interface AgainstFlags {
  readonly against?: string | undefined;
  readonly token?: string | undefined;
  readonly "token-file"?: string | undefined;
  readonly "ca-file"?: string | undefined;
  readonly "insecure-skip-tls-verify"?: boolean | undefined;
  readonly "against-pid"?: string | undefined;
}

const HTTPS_PORT = 443;

export function againstOptions(flags: AgainstFlags): AgainstOptions | undefined {
  const { against: url } = flags;
  if (url === undefined) {
    const [alone] = Object.keys(flags).filter((name) => NEEDS_AGAINST.has(name));
    if (alone !== undefined) throw new UsageError(`--${alone} needs --against`);
    return undefined;
  }
  return { url, endpoint: { ...address(url), ...trust(flags) }, token: token(flags), pids: pids(flags["against-pid"]) };
}

const NEEDS_AGAINST: ReadonlySet<string> = new Set([
  "token",
  "token-file",
  "ca-file",
  "insecure-skip-tls-verify",
  "against-pid",
]);

function address(text: string): Pick<Endpoint, "host" | "port"> {
  const url = URL.parse(text);
  if (url?.protocol !== "https:" || url.pathname !== "/")
    throw new UsageError("--against must be a URL such as https://127.0.0.1:6443");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return { host, port: url.port === "" ? HTTPS_PORT : Number(url.port) };
}

function trust(flags: AgainstFlags): Pick<Endpoint, "trust"> {
  const file = flags["ca-file"];
  if (flags["insecure-skip-tls-verify"] !== true) return { trust: file === undefined ? {} : { ca: content(file) } };
  if (file !== undefined) throw new UsageError("use either --ca-file or --insecure-skip-tls-verify");
  return {};
}

function token({ token: given, "token-file": file }: AgainstFlags): string {
  if ((given === undefined) === (file === undefined))
    throw new UsageError("--against needs either --token or --token-file");
  const text = given ?? content(file ?? "").trim();
  if (!/^[\x21-\x7e]+$/.test(text)) throw new UsageError("the token has characters that a header cannot contain");
  return text;
}

function pids(text: string | undefined): number[] {
  if (text === undefined) return [];
  return text.split(",").map((part) => {
    if (!/^[1-9][0-9]{0,8}$/.test(part) || !existsSync(`/proc/${part}/stat`))
      throw new UsageError(`there is no process ${JSON.stringify(part)}`);
    return Number(part);
  });
}

function content(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    throw new UsageError(`cannot read ${file}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}
