/**
 * A test client for HTTP/1.1 over TLS. It opens one connection for each request, unless the request asks for a shared
 * one, and returns the complete response.
 */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import { connect, createSecureContext, type ConnectionOptions, type SecureContext, type TLSSocket } from "node:tls";
import { once } from "node:events";
import type { Credentials } from "./credentials.ts";

/** The untyped body of a response: a missing field fails the expectation, not the compilation. */
export type Json = any; // oxlint-disable-line typescript/no-explicit-any -- responses are untyped

export interface PeerResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The headers as received: name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  readonly bytes: Buffer;
  readonly text: string;
  /** Undefined if the text is not JSON. */
  readonly body: Json;
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: Record<string, string | readonly string[]>;
  readonly body?: Json;
  /** The bearer token: undefined sends the administrator's token, and "" sends no token. */
  readonly token?: string;
  /** True if the client presents the certificate with which servers proxy requests of users. */
  readonly asProxy?: boolean;
  /** True if the request may use the connection of an earlier request, for tests that send very many. */
  readonly sharesConnection?: boolean;
  readonly signal?: AbortSignal;
}

export const ADMIN_TOKEN = "admin-token";

export class ApiClient {
  readonly port: number;
  readonly #credentials: Credentials;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #contexts: { user?: SecureContext; proxy?: SecureContext } = {};

  constructor(port: number, credentials: Credentials) {
    this.port = port;
    this.#credentials = credentials;
  }

  /** Sends the request and returns the response as soon as its headers have arrived. */
  open(target: string, options: CallOptions = {}): Promise<IncomingMessage> {
    const {
      method = "GET",
      headers = {},
      body,
      token = ADMIN_TOKEN,
      asProxy = false,
      sharesConnection = false,
      signal,
    } = options;
    const isRaw = body === undefined || typeof body === "string" || Buffer.isBuffer(body);
    const message: RequestOptions & Pick<ConnectionOptions, "secureContext"> = {
      host: "127.0.0.1",
      port: this.port,
      path: target,
      method,
      agent: sharesConnection ? this.#agent : false,
      secureContext: this.#context(asProxy ? "proxy" : "user"),
      ...(signal === undefined ? {} : { signal }),
      headers: {
        ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
        ...(isRaw ? {} : { "content-type": "application/json" }),
        ...(headers as Record<string, string | string[]>),
      },
    };
    return new Promise((resolve, reject) => {
      const request = httpsRequest(message, resolve);
      request.on("error", reject);
      request.end(isRaw ? body : JSON.stringify(body));
    });
  }

  async call(target: string, options: CallOptions = {}): Promise<PeerResponse> {
    const message = await this.open(target, options);
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const text = bytes.toString("utf8");
    const { statusCode: status = 0, headers, rawHeaders } = message;
    return { status, headers, rawHeaders, bytes, text, body: parse(text) };
  }

  get(target: string, headers: Record<string, string> = {}): Promise<PeerResponse> {
    return this.call(target, { headers });
  }

  create(target: string, body: Json): Promise<PeerResponse> {
    return this.call(target, { method: "POST", body });
  }

  delete(target: string): Promise<PeerResponse> {
    return this.call(target, { method: "DELETE" });
  }

  /** The aggregated discovery document; `profile` is appended to the Accept header. */
  async discovery(path: "/api" | "/apis", profile = ""): Promise<Json> {
    const { body } = await this.get(path, { accept: AGGREGATED + profile });
    return body;
  }

  /** The value of one series of /metrics, or 0 if the series does not exist. */
  async metric(series: string): Promise<number> {
    const { text } = await this.get("/metrics");
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${series} `));
    return line === undefined ? 0 : Number(line.slice(series.length + 1));
  }

  /** Opens a TLS connection that sends and receives raw bytes. */
  async connect(): Promise<TLSSocket> {
    const secureContext = this.#context("user");
    const socket = connect({ host: "127.0.0.1", port: this.port, secureContext, ALPNProtocols: ["http/1.1"] });
    socket.on("error", () => {});
    await once(socket, "secureConnect");
    return socket;
  }

  #context(as: "user" | "proxy"): SecureContext {
    const { servingCa: ca, proxy } = this.#credentials;
    const own = as === "proxy" ? { cert: proxy.certPem, key: proxy.keyPem } : {};
    return (this.#contexts[as] ??= createSecureContext({ ca, ...own }));
  }
}

export const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
export const NO_PEER = ";profile=nopeer";

export function groupNames(document: Json): string[] {
  return document.items.map((item: Json) => item.metadata.name);
}

/** "group/version resource[/subresource]" of every resource in an aggregated discovery document. */
export function resourcesIn(document: Json): string[] {
  return document.items.flatMap((group: Json) =>
    group.versions.flatMap((version: Json) =>
      version.resources.flatMap((resource: Json) => {
        const name = `${group.metadata.name ?? ""}/${version.version} ${resource.resource}`;
        return [name, ...(resource.subresources ?? []).map((below: Json) => `${name}/${below.subresource}`)];
      }),
    ),
  );
}

function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
